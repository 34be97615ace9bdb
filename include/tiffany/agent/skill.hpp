// Skills: directories with instructions for a kind of work, and tools for it.
//
//   skills/release/SKILL.md         name and description in front, then the instructions
//   skills/release/tools/tag.json   a manifest (agent/manifest.hpp); any number of them
//   skills/release/checklist.md     other files, which the instructions may name
//
//   auto skills = std::make_shared<agent::Skills>();
//   skills->add(agent::read_skill("skills/release"));
//   agent::add_skill_tools(services.tools, skills, workshop);
//   services.prompt_more = skills->prompt();
//
// SKILL.md begins with
//
//   ---
//   name: release
//   description: How a release of the shop is made.
//   ---
//
// A model is told names and descriptions, and reads a skill with the tool `skill` when it needs it.
// The text is an instruction of the operator, who installed it: it is not tainted. The digest of a
// skill is that of all its files; it is part of what the tools of an agent are (ToolSet::digest).
// Files are read once: what changes on the disk later is another skill, for the next start.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/agent/command_tool.hpp"
#include "tiffany/agent/manifest.hpp"
#include "tiffany/agent/tool.hpp"

namespace tiffany::agent {

class SkillLimits {
 public:
  static constexpr std::size_t kText = std::size_t{48} << 10;  // bytes of SKILL.md
  static constexpr std::size_t kFile = std::size_t{1} << 20;   // bytes of another file
  static constexpr std::size_t kBytes = std::size_t{8} << 20;  // of all files together
  static constexpr std::size_t kFiles = 200;
  static constexpr std::size_t kDescription = 1024;  // bytes
  static constexpr int kDepth = 6;                   // of directories
};

class Skill {
 public:
  Skill() = default;
  std::string name{};   // letters, digits, '_' and '-', at most 64
  std::string about{};  // one line
  std::string text{};   // the instructions
  std::string directory{};
  std::string digest{};                        // SHA-256 over paths and contents
  std::map<std::string, std::string> files{};  // by their paths, but for SKILL.md and tools/
  std::vector<Manifest> tools{};
};

// Reads all of it, and so blocks. Errc::bad_tool, with a sentence that names the file, for what is
// no skill: no SKILL.md, no name or description in front of it, links, files that are none, what is
// beyond SkillLimits, a manifest with mistakes, and a digest that is not `pin` (empty: any).
Skill read_skill(const std::string& directory, const std::string& pin = {});

class Skills {
 public:
  // Errc::bad_tool for a name that another skill has.
  void add(Skill skill);
  const std::deque<Skill>& all() const noexcept { return all_; }
  const Skill* find(std::string_view name) const noexcept;  // null: there is none
  // How often it was read, since this object was made.
  std::uint64_t used(const Skill& skill) const noexcept;
  void note_use(const Skill& skill) noexcept;
  // What a model is told of them; empty when there are none.
  std::string prompt() const;

 private:
  std::deque<Skill> all_;
  std::deque<std::atomic<std::uint64_t>> uses_;
};

// The tool `skill`, unless there are none, and those of their manifests. Errc::bad_tool for a tool
// whose name is there already. Calls from any thread.
void add_skill_tools(ToolSet& tools, std::shared_ptr<Skills> skills, Workshop& workshop);

}  // namespace tiffany::agent
