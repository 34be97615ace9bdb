#include "plan/check_step.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace tiffany::plan {
namespace {

const std::vector<std::string_view> kStepKeys = {
    "name",    "run",          "shell",         "approve",   "needs", "if",    "foreach", "env",
    "secrets", "directory",    "timeout",       "grace",     "retry", "class", "locks",   "outputs",
    "limits",  "output_bytes", "allow_failure", "artifacts", "plan",  "with",  "sandbox"};

constexpr std::size_t kMostWords = 10'000;
constexpr std::size_t kMostNames = 1'000;  // of variables, secrets, locks, outputs of one step
constexpr std::size_t kMostDefaults = 16 * kMostBytes;  // in all steps
constexpr std::size_t kLongestText = 128 * 1024;        // of a word; the kernel takes no longer one

std::size_t bytes_of(const StepDefaults& defaults) {
  std::size_t sum = defaults.directory.size();
  for (const auto& [name, value] : defaults.env) sum += name.size() + value.size();
  for (const exec::Secret& each : defaults.secrets) {
    sum += each.name.size() + each.file.size() + each.variable.size();
  }
  return sum;
}

// False: too many for one step.
bool require_few(Reader& reader, const Node& at, std::size_t count, const std::string& what) {
  if (count <= kMostNames) return true;
  reader.complain(at, what + " has " + std::to_string(count) + " entries, and at most " +
                          std::to_string(kMostNames) + " are taken.");
  return false;
}

class StepReader {
 public:
  StepReader(Reader& reader, const Node& node, const StepDefaults& defaults)
      : in_(reader), node_(node) {
    step_.env = defaults.env;
    step_.secrets = defaults.secrets;
    step_.directory = defaults.directory;
    step_.timeout_ms = defaults.timeout_ms;
    step_.retry = defaults.retry;
    step_.line = node.line;
  }

  Step read() {
    const Node* const name = Reader::member(node_, "name");
    if (name != nullptr) step_.name = in_.text(*name, "The name of a step");
    what_ = "The step \"" + step_.name + "\"";
    if (!in_.require_map(node_, name == nullptr ? "A step" : what_, kStepKeys)) return step_;
    if (name == nullptr) {
      in_.complain(node_, "A step has no name. Give it one: name: build");
    } else {
      in_.require_name(*name, step_.name, "The name of a step");
    }
    read_action();
    read_foreach();
    on("needs", [&](const Node& at) { step_.needs = in_.names(at, of("needs")); });
    on("if", [&](const Node& at) { step_.condition = in_.text(at, of("if")); });
    on("env", [&](const Node& at) { add_env(read_env(in_, at, of("env"))); });
    on("secrets", [&](const Node& at) { add_secrets(read_secrets(in_, at, of("secrets"))); });
    on("directory", [&](const Node& at) { step_.directory = in_.text(at, of("directory")); });
    on("timeout", [&](const Node& at) { step_.timeout_ms = in_.duration(at, of("timeout"), 0); });
    on("grace", [&](const Node& at) { step_.grace_ms = in_.duration(at, of("grace"), 5000); });
    on("retry", [&](const Node& at) { step_.retry = read_retry(in_, at, of("retry")); });
    on("class", [&](const Node& at) { read_class(at); });
    on("locks", [&](const Node& at) { step_.locks = read_names(at, "locks"); });
    on("outputs", [&](const Node& at) { step_.outputs = read_names(at, "outputs"); });
    on("limits", [&](const Node& at) { read_limits(at); });
    on("output_bytes", [&](const Node& at) {
      step_.output_bytes = std::min<std::uint64_t>(in_.size(at, of("output_bytes"), 1 << 20),
                                                   std::uint64_t{1} << 30);
    });
    on("artifacts", [&](const Node& at) { read_artifacts(at); });
    on("sandbox", [&](const Node& at) { step_.sandbox = read_sandbox(in_, at, step_); });
    on("allow_failure",
       [&](const Node& at) { step_.allow_failure = in_.flag(at, of("allow_failure")); });
    return step_;
  }

 private:
  std::string of(const std::string& key) const { return "\"" + key + "\" of " + lower_what(); }
  std::string lower_what() const { return "the step \"" + step_.name + "\""; }
  template <class F>
  void on(std::string_view key, F f) {
    if (const Node* const at = Reader::member(node_, key)) f(*at);
  }

  void read_action() {
    int actions = 0;
    bool shell = false;
    on("shell", [&](const Node& at) { shell = in_.flag(at, of("shell")); });
    on("run", [&](const Node& at) {
      ++actions;
      if (at.is(Node::Kind::scalar)) {
        if (!shell) {
          in_.complain(at, "\"run\" of " + lower_what() +
                               " is a text. Write the words as a list, [make, test], which no "
                               "shell reads, or say shell: true.");
        }
        step_.shell = at.text;
      } else {
        if (shell) {
          in_.complain(at, what_ +
                               " says shell: true, and its \"run\" is a list. A shell reads "
                               "one text.");
        }
        step_.run = in_.texts(at, of("run"), kMostWords);
        if (step_.run.empty() || step_.run[0].empty()) {
          in_.complain(at, of("run") + " has no program. Write [make, test].");
        }
      }
      for (const std::string& word : step_.run) require_short(at, word);
      require_short(at, step_.shell);
      if (at.is(Node::Kind::scalar) && at.text.empty()) in_.complain(at, of("run") + " is empty.");
    });
    on("approve", [&](const Node& at) {
      ++actions;
      step_.approve = in_.text(at, of("approve"));
      if (at.is(Node::Kind::scalar) && step_.approve.empty()) {
        in_.complain(at, of("approve") + " is empty. Say what is approved.");
      }
      refuse_keys("an approval", {"retry", "class", "foreach", "outputs", "limits", "shell",
                                  "artifacts", "with", "sandbox"});
    });
    on("plan", [&](const Node& at) {
      ++actions;
      read_plan(at);
    });
    if (actions == 1) {
      if (Reader::member(node_, "run") != nullptr) refuse_keys("a command", {"with"});
      return;
    }
    in_.complain(node_, actions == 0
                            ? what_ + " does nothing. Give it \"run\", \"approve\" or \"plan\"."
                            : what_ +
                                  " has more than one of \"run\", \"approve\" and \"plan\". Make a "
                                  "step of each.");
  }

  // The file is read by SubPlans. What a plan says for its commands is not for those of another.
  void read_plan(const Node& at) {
    static_cast<void>(in_.text(at, of("plan")));
    refuse_keys("a step that is a plan, which says this itself",
                {"class", "outputs", "limits", "shell", "artifacts", "env", "secrets", "directory",
                 "grace", "output_bytes", "sandbox"});
    on("locks", [&](const Node& locks) {
      in_.complain(locks,
                   "\"locks\" of a step that is a plan could never be given back: its own steps "
                   "would wait for them. Put them at the steps of that plan.");
    });
    on("with", [&](const Node& with) { step_.with = read_env(in_, with, of("with")); });
    step_.env.clear();
    step_.secrets.clear();
    step_.directory.clear();
  }

  void refuse_keys(const std::string& what, const std::vector<std::string_view>& keys) {
    for (const std::string_view key : keys) {
      const Node* const other = Reader::member(node_, key);
      if (other == nullptr) continue;
      in_.complain(*other,
                   "\"" + std::string(key) + "\" has no meaning for " + what + ". Remove it.");
    }
  }

  void require_short(const Node& at, const std::string& word) {
    if (word.size() <= kLongestText) return;
    in_.complain(at, "A word of " + lower_what() + " has " + std::to_string(word.size()) +
                         " bytes, and a program takes at most " + std::to_string(kLongestText) +
                         ". Put it into a file.");
  }

  void read_foreach() {
    on("foreach", [&](const Node& at) {
      step_.each = true;
      if (at.is(Node::Kind::scalar)) {
        step_.items_of = at.text;
        if (at.text.find("${{") == std::string::npos) {
          in_.complain(at, of("foreach") +
                               " is a list, or an ${{ expression }} that gives an "
                               "item in each line.");
        }
      } else {
        step_.items = in_.texts(at, of("foreach"), kMostItems);
      }
    });
  }

  void add_env(const std::vector<std::pair<std::string, std::string>>& more) {
    for (const auto& [name, value] : more) {
      std::erase_if(step_.env, [&](const auto& each) { return each.first == name; });
      step_.env.emplace_back(name, value);
    }
  }
  void add_secrets(const std::vector<exec::Secret>& more) {
    for (const exec::Secret& secret : more) {
      std::erase_if(step_.secrets, [&](const auto& each) { return each.name == secret.name; });
      step_.secrets.push_back(secret);
    }
  }

  void read_class(const Node& at) {
    const std::string text = in_.text(at, of("class"));
    if (text == "at_most_once") {
      step_.at_most_once = true;
    } else if (text != "idempotent") {
      in_.complain(at, of("class") +
                           " is \"idempotent\" (run again when nobody knows how it ended) or "
                           "\"at_most_once\" (then it fails)." +
                           did_you_mean(text, {"idempotent", "at_most_once"}));
    }
  }

  std::vector<std::string> read_names(const Node& at, const std::string& key) {
    if (!require_few(in_, at, at.items.size(), of(key))) return {};
    std::vector<std::string> all = in_.names(at, of(key));
    for (const std::string& name : all) in_.require_name(at, name, "An entry of " + of(key));
    return all;
  }

  // A value of an expression is looked at when the command has ended.
  void read_artifacts(const Node& at) {
    constexpr std::size_t kMostPatterns = 100;
    step_.artifacts = at.is(Node::Kind::scalar) ? std::vector<std::string>{at.text}
                                                : in_.texts(at, of("artifacts"), kMostPatterns);
    for (const std::string& pattern : step_.artifacts) {
      const std::string framed = "/" + pattern + "/";
      if (!pattern.empty() && framed.find("/../") == std::string::npos &&
          framed.find("//") == std::string::npos) {
        continue;
      }
      in_.complain(at, "An entry of " + of("artifacts") +
                           " is a path below the directory of the step, with * and ?, and without "
                           "\"..\": dist/*.tar");
    }
  }

  void read_limits(const Node& at) {
    if (!in_.require_map(at, of("limits"),
                         {"cpu", "memory", "file_size", "open_files", "processes"})) {
      return;
    }
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    const auto count = [&](const char* key, std::optional<std::uint64_t>& into) {
      if (const Node* const value = Reader::member(at, key)) {
        into = static_cast<std::uint64_t>(in_.whole(*value, of(key), 1, kMost, 1));
      }
    };
    const auto bytes = [&](const char* key, std::optional<std::uint64_t>& into) {
      if (const Node* const value = Reader::member(at, key)) into = in_.size(*value, of(key), 1);
    };
    if (const Node* const cpu = Reader::member(at, "cpu")) {
      step_.limits.cpu_seconds =
          static_cast<std::uint64_t>((in_.duration(*cpu, of("cpu"), 1000) + 999) / 1000);
    }
    bytes("memory", step_.limits.memory_bytes);
    bytes("file_size", step_.limits.file_bytes);
    count("open_files", step_.limits.open_files);
    count("processes", step_.limits.processes);
  }

  Reader& in_;
  const Node& node_;
  Step step_;
  std::string what_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> read_env(Reader& reader, const Node& node,
                                                          const std::string& what) {
  std::vector<std::pair<std::string, std::string>> all;
  if (!reader.require_map(node, what, {}) ||
      !require_few(reader, node, node.members.size(), what)) {
    return all;
  }
  for (const auto& [key, value] : node.members) {
    if (!reader.require_name(key, key.text, "A variable in " + what)) continue;
    all.emplace_back(key.text, value.is(Node::Kind::null)
                                   ? std::string()
                                   : reader.text(value, "The variable " + key.text));
  }
  return all;
}

std::vector<exec::Secret> read_secrets(Reader& reader, const Node& node, const std::string& what) {
  std::vector<exec::Secret> all;
  if (!reader.require_map(node, what, {}) ||
      !require_few(reader, node, node.members.size(), what)) {
    return all;
  }
  for (const auto& [key, value] : node.members) {
    const std::string of = "The secret " + key.text;
    if (!reader.require_name(key, key.text, "A variable in " + what)) continue;
    if (!value.is(Node::Kind::map)) {
      reader.complain(value, of + " is given by reference, and never in the plan: write {file: "
                                  "/path} or {variable: NAME}.");
      continue;
    }
    if (!reader.require_map(value, of, {"file", "variable"})) continue;
    exec::Secret secret;
    secret.name = key.text;
    if (const Node* const at = Reader::member(value, "file")) secret.file = reader.text(*at, of);
    if (const Node* const at = Reader::member(value, "variable")) {
      secret.variable = reader.text(*at, of);
    }
    if (secret.file.empty() == secret.variable.empty()) {
      reader.complain(value, of + " has one source, {file: /path} or {variable: NAME}.");
      continue;
    }
    all.push_back(std::move(secret));
  }
  return all;
}

RetryPolicy read_retry(Reader& reader, const Node& node, const std::string& what) {
  RetryPolicy policy;
  if (node.is(Node::Kind::scalar)) {
    policy.attempts = static_cast<int>(reader.whole(node, what, 1, 1000, 1));
    return policy;
  }
  if (!reader.require_map(node, what, {"attempts", "pause", "factor", "longest", "jitter"})) {
    return policy;
  }
  if (const Node* const at = Reader::member(node, "attempts")) {
    policy.attempts = static_cast<int>(reader.whole(*at, "\"attempts\"", 1, 1000, 1));
  } else {
    reader.complain(node, what + " does not say how often: attempts: 3");
  }
  if (const Node* const at = Reader::member(node, "pause")) {
    policy.pause_ms = reader.duration(*at, "\"pause\"", policy.pause_ms);
    policy.longest_ms = std::max(policy.longest_ms, policy.pause_ms);
  }
  if (const Node* const at = Reader::member(node, "factor")) {
    policy.factor = reader.number(*at, "\"factor\"", 1, 100, policy.factor);
  }
  if (const Node* const at = Reader::member(node, "longest")) {
    policy.longest_ms = reader.duration(*at, "\"longest\"", policy.longest_ms);
  }
  if (const Node* const at = Reader::member(node, "jitter")) {
    policy.jitter = reader.number(*at, "\"jitter\"", 0, 1, 0);
  }
  return policy;
}

std::vector<ReadStep> read_steps(Reader& reader, const Node& node, const std::string& what,
                                 const StepDefaults& defaults) {
  std::vector<ReadStep> all;
  if (!node.is(Node::Kind::list)) {
    reader.complain(node, what + " is a list of steps, and this is " + name_of(node.kind) +
                              ". Begin each with \"- name:\".");
    return all;
  }
  if (node.items.size() > kMostSteps) {
    reader.complain(node, what + " has " + std::to_string(node.items.size()) +
                              " steps, and a plan has at most " + std::to_string(kMostSteps) +
                              ". Use foreach, or make several plans.");
    return all;
  }
  const std::size_t bytes = bytes_of(defaults);
  if (bytes > kMostDefaults / std::max<std::size_t>(node.items.size(), 1)) {
    reader.complain(node, "\"env\", \"secrets\" and \"directory\" of the plan have " +
                              std::to_string(bytes) + " bytes, and are copied into each of its " +
                              std::to_string(node.items.size()) + " steps; at most " +
                              std::to_string(kMostDefaults) +
                              " bytes may come of that. Put what is long into a file.");
    return all;
  }
  for (const Node& item : node.items) {
    if (reader.full()) break;
    all.push_back({StepReader(reader, item, defaults).read(), &item});
  }
  return all;
}

}  // namespace tiffany::plan
