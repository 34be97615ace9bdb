#include "plan/document.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <cstddef>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "base/utf8.hpp"

namespace tiffany::plan {
namespace {

constexpr std::size_t kMostNodes = 200'000;
constexpr std::size_t kMostText = 4 * kMostBytes;  // with what aliases repeat
constexpr std::size_t kDeepest = 24;

struct TooMuch {
  Mistake mistake;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  Node root;
  bool any = false;

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    put(made(Node::Kind::null, mark), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = made(Node::Kind::scalar, mark);
    if (!detail::is_utf8(value)) refuse(mark, "This text is not UTF-8. Save the file as UTF-8.");
    node.text = value;
    text_ += value.size();
    node.quoted = tag == "!";
    if (!node.quoted && (value == "~" || value == "null")) node.kind = Node::Kind::null;
    put(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) refuse(mark, "An alias stands inside of what it is an alias of.");
    count(found->second, mark);
    put(Node(found->second), 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(made(Node::Kind::list, mark), anchor, mark);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(made(Node::Kind::map, mark), anchor, mark);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    std::optional<Node> key;
  };

  [[noreturn]] static void refuse(const YAML::Mark& mark, const std::string& sentence) {
    throw TooMuch{{mark.line + 1, mark.column + 1, sentence}};
  }
  Node made(Node::Kind kind, const YAML::Mark& mark) {
    if (++nodes_ > kMostNodes) refuse(mark, "The plan has too many parts. Make two plans of it.");
    Node node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }
  void count(const Node& node, const YAML::Mark& at) {
    text_ += node.text.size();
    if (++nodes_ > kMostNodes || text_ > kMostText) {
      refuse(at, "Aliases make the plan too large. Write less of them.");
    }
    for (const Node& item : node.items) count(item, at);
    for (const auto& [key, value] : node.members) {
      count(key, at);
      count(value, at);
    }
  }
  void begin(Node node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (open_.size() >= kDeepest) refuse(mark, "Lists and maps stand too deep in one another.");
    open_.push_back({std::move(node), anchor, std::nullopt});
  }
  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    put(std::move(done.node), done.anchor);
  }
  void put(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = node;
    if (open_.empty()) {
      root = std::move(node);
      any = true;
      return;
    }
    Open& into = open_.back();
    if (into.node.is(Node::Kind::list)) {
      into.node.items.push_back(std::move(node));
    } else if (!into.key) {
      into.key = std::move(node);
    } else {
      into.node.members.push_back({std::move(*into.key), std::move(node)});
      into.key.reset();
    }
  }

  std::size_t nodes_ = 0;
  std::size_t text_ = 0;  // bytes
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
};

}  // namespace

const char* name_of(Node::Kind kind) noexcept {
  switch (kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return "a single value";
    case Node::Kind::list:
      return "a list";
    case Node::Kind::map:
      return "a map";
  }
  return "";
}

Node read_document(std::string_view text, std::vector<Mistake>& mistakes) {
  if (text.size() > kMostBytes) {
    mistakes.push_back({0, 0,
                        "The plan has " + std::to_string(text.size()) + " bytes, and at most " +
                            std::to_string(kMostBytes) + " are read. Make two plans of it."});
    return {};
  }
  TreeBuilder tree;
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    parser.HandleNextDocument(tree);
    if (tree.any && parser.HandleNextDocument(tree)) {
      mistakes.push_back({0, 0, "The file has more than one document. A file is one plan."});
    }
  } catch (const TooMuch& refused) {
    mistakes.push_back(refused.mistake);
  } catch (const YAML::Exception& error) {
    mistakes.push_back({error.mark.line + 1, error.mark.column + 1,
                        "This is neither YAML nor JSON: " + error.msg + "."});
  }
  if (!tree.any && mistakes.empty()) mistakes.push_back({0, 0, "The plan is empty."});
  return std::move(tree.root);
}

}  // namespace tiffany::plan
