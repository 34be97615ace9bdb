#include "tiffany/agent/skill.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/skill_files.hpp"
#include "base/shown_text.hpp"
#include "base/utf8.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent {
namespace {

constexpr const char* kSkillText = "SKILL.md";

// What stands in front of SKILL.md: "name: value", where a value may go on in lines that are
// indented. Of YAML that is as much as skills use; other names than ours are left alone.
class FrontMatter {
 public:
  FrontMatter(const std::string& directory, std::string_view text) : directory_(directory) {
    std::string_view rest = text;
    if (next_line(rest) != "---") fail("does not begin with a line \"---\" and its name.");
    for (;;) {
      if (rest.empty()) fail("has no second line \"---\" behind its name and description.");
      const std::string_view line = next_line(rest);
      if (line == "---") break;
      add(line);
    }
    body_ = rest;
  }
  // Empty: it is not there.
  std::string value(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return "";
    return unquoted(found->second);
  }
  std::string_view body() const noexcept { return body_; }

 private:
  static std::string_view next_line(std::string_view& rest) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    return line;
  }
  void add(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || line[begin] == '#') return;
    if (begin > 0 || line.starts_with("- ")) {
      if (last_.empty()) fail("begins with a line that is indented.");
      std::string& value = values_[last_];
      const bool block = value == ">" || value == "|" || value == ">-" || value == "|-";
      if (block) value.clear();
      value += (value.empty() ? "" : " ") + std::string(line.substr(begin));
      return;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      fail("has a line in front that is no \"name: value\": " +
           tiffany::detail::shown(line.substr(0, 80)));
    }
    last_ = line.substr(0, colon);
    const std::size_t from = line.find_first_not_of(' ', colon + 1);
    std::string value(from == std::string_view::npos ? "" : line.substr(from));
    if (!values_.emplace(last_, std::move(value)).second) {
      fail("says " + tiffany::detail::shown(last_.substr(0, 80)) + " twice.");
    }
  }
  static std::string unquoted(std::string value) {
    const bool quoted = value.size() >= 2 && value.front() == value.back() &&
                        (value.front() == '"' || value.front() == '\'');
    return quoted ? value.substr(1, value.size() - 2) : value;
  }
  [[noreturn]] void fail(const std::string& why) const {
    refuse_skill(directory_, std::string("has a ") + kSkillText + " that " + why);
  }

  const std::string& directory_;
  std::map<std::string, std::string> values_;
  std::string last_;
  std::string_view body_;
};

bool is_skill_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

void read_skill_text(Skill& skill, const std::string& text) {
  if (text.size() > SkillLimits::kText) {
    refuse_skill(skill.directory,
                 "has a SKILL.md of more than 48 KiB: put details into other "
                 "files of the skill.");
  }
  if (!tiffany::detail::is_utf8(text) || text.find('\0') != std::string::npos) {
    refuse_skill(skill.directory, "has a SKILL.md that is no text in UTF-8.");
  }
  const FrontMatter front(skill.directory, text);
  skill.name = front.value("name");
  skill.about = front.value("description");
  skill.text = front.body();
  if (!is_skill_name(skill.name)) {
    refuse_skill(skill.directory,
                 "needs a name in front of its SKILL.md (`name: release`), of "
                 "letters, digits, '_' and '-', at most 64.");
  }
  bool plain = !skill.about.empty() && skill.about.size() <= SkillLimits::kDescription;
  for (const char c : skill.about) plain = plain && static_cast<unsigned char>(c) >= 0x20;
  if (!plain) {
    refuse_skill(skill.directory,
                 "needs a description in front of its SKILL.md "
                 "(`description: How a release is made.`), at most 1024 bytes.");
  }
}

struct SkillArguments {
  std::string name{};
  std::optional<std::string> file{};
};
TIFFANY_JSON(SkillArguments, name, file);

class SkillTool final : public Tool {
 public:
  explicit SkillTool(std::shared_ptr<Skills> skills) : skills_(std::move(skills)) {
    offer_.name = "skill";
    offer_.about =
        "Reads the instructions of a skill by its name, or another file of that skill which the "
        "instructions name.";
    offer_.schema = R"({"type":"object","properties":{"name":{"type":"string","maxLength":64},)"
                    R"("file":{"type":["string","null"],"maxLength":1024}},"required":["name"],)"
                    R"("additionalProperties":false})";
    traits_.concurrent = true;
    traits_.untrusted = false;  // the operator installed it
    std::string all = to_json(offer_);
    for (const Skill& each : skills_->all()) all += each.name + " " + each.digest + "\n";
    traits_.pin = sha256_hex(all);
  }
  const ToolOffer& offer() const noexcept override { return offer_; }
  const ToolTraits& traits() const noexcept override { return traits_; }
  std::string mistake_in(std::string_view arguments) const override {
    return mistakes_in_call(offer_, arguments);
  }
  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    const auto ask = from_json<SkillArguments>(arguments);
    ToolAnswer answer;
    answer.canvas = where.canvas;
    const Skill* const skill = skills_->find(ask.name);
    if (skill == nullptr) {
      answer.failed = true;
      answer.text = "There is no such skill. There are:";
      for (const Skill& each : skills_->all()) answer.text += " " + each.name;
    } else if (ask.file && *ask.file != kSkillText) {
      answer = file_of(*skill, *ask.file);
      answer.canvas = where.canvas;
    } else {
      skills_->note_use(*skill);
      answer.text = skill->text;
      if (!skill->files.empty()) answer.text += "\n(other files of this skill:";
      for (const auto& [path, content] : skill->files) answer.text += " " + path;
      if (!skill->files.empty()) answer.text += ")\n";
    }
    co_return answer;
  }

 private:
  static ToolAnswer file_of(const Skill& skill, const std::string& path) {
    ToolAnswer answer;
    const auto found = skill.files.find(path);
    answer.failed = found == skill.files.end() || !tiffany::detail::is_utf8(found->second);
    answer.text = answer.failed ? "The skill has no such text." : found->second;
    if (answer.text.size() <= SkillLimits::kText) return answer;
    answer.text.resize(tiffany::detail::utf8_prefix(answer.text, SkillLimits::kText).size());
    answer.text += "\n(the file is longer)\n";
    return answer;
  }

  std::shared_ptr<Skills> skills_;
  ToolOffer offer_;
  ToolTraits traits_;
};

}  // namespace

Skill read_skill(const std::string& directory, const std::string& pin) {
  Skill skill;
  skill.directory = directory;
  skill.files = read_skill_files(directory);
  skill.digest = digest_of_files(skill.files);
  if (!pin.empty() && pin != skill.digest) {
    refuse_skill(directory, "is not the one that is pinned: its digest is " + skill.digest +
                                ", and not " + tiffany::detail::shown(pin.substr(0, 80)) +
                                ". Look at what has changed, then pin it anew.");
  }
  const auto text = skill.files.find(kSkillText);
  if (text == skill.files.end()) refuse_skill(directory, "has no file SKILL.md.");
  read_skill_text(skill, text->second);
  skill.files.erase(text);
  for (auto each = skill.files.begin(); each != skill.files.end();) {
    const std::string& path = each->first;
    if (!path.starts_with("tools/") || !path.ends_with(".json")) {
      ++each;
      continue;
    }
    try {
      skill.tools.push_back(read_manifest(each->second));
    } catch (const Error& error) {
      refuse_skill(directory, "has a mistake in " + path + ". " + error.what());
    }
    each = skill.files.erase(each);
  }
  return skill;
}

void Skills::add(Skill skill) {
  if (find(skill.name) != nullptr) {
    refuse_skill(skill.directory, "has the name \"" + skill.name + "\", which another skill has.");
  }
  all_.push_back(std::move(skill));
  uses_.emplace_back(0);
}

const Skill* Skills::find(std::string_view name) const noexcept {
  for (const Skill& each : all_) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::uint64_t Skills::used(const Skill& skill) const noexcept {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (&all_[i] == &skill) return uses_[i].load(std::memory_order_relaxed);
  }
  return 0;
}

void Skills::note_use(const Skill& skill) noexcept {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (&all_[i] == &skill) uses_[i].fetch_add(1, std::memory_order_relaxed);
  }
}

std::string Skills::prompt() const {
  if (all_.empty()) return "";
  std::string text =
      "\n\nSkills are instructions of the operator for a kind of work. Before such work read the "
      "skill with the tool `skill`. There are:\n";
  for (const Skill& each : all_) text += "- " + each.name + ": " + each.about + "\n";
  return text;
}

void add_skill_tools(ToolSet& tools, std::shared_ptr<Skills> skills, Workshop& workshop) {
  if (skills->all().empty()) return;
  for (const Skill& skill : skills->all()) {
    for (const Manifest& manifest : skill.tools) {
      try {
        add_command_tool(tools, manifest, workshop);
      } catch (const Error& error) {
        refuse_skill(skill.directory, std::string("brings a tool that cannot be. ") + error.what());
      }
    }
  }
  tools.add(std::make_shared<SkillTool>(std::move(skills)));
}

}  // namespace tiffany::agent
