#include "agent/skill_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/shown_text.hpp"
#include "base/utf8.hpp"
#include "tiffany/agent/skill.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/sha256.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany::agent {
namespace {

class SkillWalk {
 public:
  explicit SkillWalk(const std::string& directory) : root_(directory) { enter("", 0); }
  std::map<std::string, std::string> files;

 private:
  class Names final : public WorldFiles::EntryVisitor {
   public:
    bool on_entry(const char* name, mode_t) override {
      all.emplace_back(name);
      return all.size() <= SkillLimits::kFiles;
    }
    std::vector<std::string> all;
  };

  void enter(const std::string& below, int depth) {
    if (depth > SkillLimits::kDepth) refuse_skill(root_, "has directories that are too deep.");
    const std::string path = below.empty() ? root_ : root_ + "/" + below;
    Names names;
    const WorldFiles::Listed listed = World::current().files().list(path.c_str(), names);
    if (listed == WorldFiles::Listed::cannot_open || listed == WorldFiles::Listed::cannot_read) {
      refuse_skill(root_, below.empty() ? "is no directory that can be read."
                                        : "has a directory that cannot be read: " + below + ".");
    }
    if (listed == WorldFiles::Listed::cut_short) too_many();
    for (const std::string& name : names.all) {
      add(below.empty() ? name : below + "/" + name, depth);
    }
  }

  void add(const std::string& below, int depth) {
    const std::string shown = tiffany::detail::shown(below.substr(0, 200));
    bool plain = tiffany::detail::is_utf8(below);
    for (const char c : below) plain = plain && static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    if (!plain) refuse_skill(root_, "has a file whose name is no plain text: " + shown + ".");
    struct stat about{};
    const std::string path = root_ + "/" + below;
    if (World::current().files().status_of_link(path.c_str(), about) != 0) {
      throw IoError(errno, "look at", path);
    }
    if (S_ISDIR(about.st_mode)) {
      enter(below, depth + 1);
    } else if (S_ISREG(about.st_mode)) {
      if (files.size() == SkillLimits::kFiles) too_many();
      files[below] = content(path, shown);
    } else if (S_ISLNK(about.st_mode)) {
      refuse_skill(root_, "has a symbolic link, " + shown +
                              ": its digest would not be of what it "
                              "leads to. Put the file there.");
    } else {
      refuse_skill(root_, "has something that is no file: " + shown + ".");
    }
  }

  std::string content(const std::string& path, const std::string& shown) {
    WorldFiles& world = World::current().files();
    const int fd = world.open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) throw IoError(errno, "open", path);
    std::string text;
    std::array<char, 16384> room;
    ssize_t came = 0;
    while (text.size() <= SkillLimits::kFile) {
      came = world.read_at(fd, room.data(), room.size(), text.size());
      if (came <= 0) break;
      text.append(room.data(), static_cast<std::size_t>(came));
    }
    const int error = errno;
    world.close(fd);
    if (came < 0) throw IoError(error, "read", path);
    bytes_ += text.size();
    if (text.size() > SkillLimits::kFile || bytes_ > SkillLimits::kBytes) {
      refuse_skill(root_, "has too many bytes, in " + shown +
                              ": a file may have 1 MiB, and all of them 8 MiB.");
    }
    return text;
  }
  [[noreturn]] void too_many() const {
    refuse_skill(root_,
                 "has more than " + std::to_string(SkillLimits::kFiles) + " files. Is it a skill?");
  }

  std::string root_;
  std::size_t bytes_ = 0;
};

}  // namespace

void refuse_skill(const std::string& directory, const std::string& why) {
  throw Error(Errc::bad_tool, "The skill " + tiffany::detail::shown(directory) + " " + why);
}

std::map<std::string, std::string> read_skill_files(const std::string& directory) {
  return std::move(SkillWalk(directory).files);
}

std::string digest_of_files(const std::map<std::string, std::string>& files) {
  std::string all;
  for (const auto& [path, content] : files) all += path + '\n' + sha256_hex(content) + '\n';
  return sha256_hex(all);
}

}  // namespace tiffany::agent
