#include "plan/check_step.hpp"

namespace tiffany::plan {

exec::Sandbox read_sandbox(Reader& reader, const Node& node, const Step& step) {
  constexpr std::size_t kMostPaths = 100;
  exec::Sandbox sandbox;
  const std::string what = "\"sandbox\" of the step \"" + step.name + "\"";
  const auto level = [&](const Node& at) {
    const std::string of = &at == &node ? what : "The level in " + what;
    sandbox.level = static_cast<int>(reader.whole(at, of, 0, exec::Sandbox::kHighest, 2));
  };
  const auto paths = [&](const char* key, std::vector<std::string>& into) {
    const Node* const at = Reader::member(node, key);
    if (at == nullptr) return;
    into = at->is(Node::Kind::scalar) ? std::vector<std::string>{at->text}
                                      : reader.texts(*at, what, kMostPaths);
    for (const std::string& path : into) {
      if (path.empty()) reader.complain(*at, "A path in " + what + " is empty.");
    }
  };
  const auto flag = [&](const char* key, bool& into) {
    if (const Node* const at = Reader::member(node, key)) into = reader.flag(*at, what);
  };
  if (node.is(Node::Kind::scalar)) {
    level(node);  // sandbox: 2
  } else if (reader.require_map(
                 node, what,
                 {"level", "read", "write", "directory_writable", "network", "unix_sockets"})) {
    if (const Node* const at = Reader::member(node, "level")) level(*at);
    paths("read", sandbox.read);
    paths("write", sandbox.write);
    flag("directory_writable", sandbox.directory_writable);
    flag("network", sandbox.network);
    flag("unix_sockets", sandbox.unix_sockets);
  }
  if (sandbox.level >= 2 && step.directory.empty()) {
    reader.complain(node, "The step \"" + step.name +
                              "\" has a sandbox and no directory. Give it one, below which it may "
                              "write: directory: /srv/checkout");
  }
  return sandbox;
}

}  // namespace tiffany::plan
