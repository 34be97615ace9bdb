// A git repository in a directory of its own, made with the program git, for tests.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "tiffany/base/error.hpp"

namespace tiffany::agent::canvas_support {

class Scratch {
 public:
  Scratch() {
    // In memory where that is possible: each object is synced, and a busy disk takes its time.
    const bool memory = access("/dev/shm", W_OK) == 0;
    std::string pattern =
        (memory ? "/dev/shm" : std::filesystem::temp_directory_path().string()) + "/canvas.XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}
inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The output of a command of the shell, without the last line break.
inline std::string shell(const std::string& command) {
  FILE* const pipe =
      popen(("export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=A "
             "GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b "
             "GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'; " +
             command + " 2>&1")
                .c_str(),
            "r");
  std::string out;
  char room[4096];
  for (std::size_t n = 0; (n = fread(room, 1, sizeof room, pipe)) > 0;) out.append(room, n);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << out;
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

// What every file below a directory holds, and what it is.
inline std::map<std::string, std::string> everything_below(const std::string& directory) {
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    struct stat about{};
    EXPECT_EQ(lstat(entry.path().c_str(), &about), 0);
    std::string what = std::to_string(about.st_mode) + " ";
    if (entry.is_symlink()) {
      what += std::filesystem::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      what += read_file(entry.path().string());
    }
    found[entry.path().lexically_relative(directory).string()] = what;
  }
  return found;
}

// README.md, src/cart.cpp (with a text twice), run.sh (executable), logo.bin (binary), a link, and
// ten lines in ten.txt; one commit on main, which is checked out.
class Repository {
 public:
  Repository() {
    std::filesystem::copy(
        made_once(), path(),
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  }
  std::string path() const { return scratch_ / "shop"; }
  std::string beside(const std::string& name) const { return scratch_ / name; }
  std::string git(const std::string& words) const {
    return shell("git -C " + path() + " " + words);
  }
  std::string head() const { return git("rev-parse HEAD"); }
  // A file with that text in a new commit on the branch that is checked out.
  std::string commit_file(const std::string& name, const std::string& text) const {
    write_file(path() + "/" + name, text);
    return git("add -A && git -C " + path() + " commit -qm more && git -C " + path() +
               " rev-parse HEAD");
  }

 private:
  static std::string made_once() {
    static const Scratch scratch;
    static const std::string made = [] {
      const std::string at = scratch / "shop";
      write_file(at + "/README.md", "# Shop\n");
      write_file(at + "/src/cart.cpp", "int total = 0;\nint count = 0;\nint all = total;\n");
      write_file(at + "/run.sh", "#!/bin/sh\n");
      write_file(at + "/logo.bin", std::string("\x89PNG\0\x01", 6));
      write_file(at + "/ten.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
      write_file(at + "/.gitignore", "*.o\n/build/\n");
      std::filesystem::create_symlink("README.md", at + "/link");
      std::filesystem::permissions(at + "/run.sh", static_cast<std::filesystem::perms>(0111),
                                   std::filesystem::perm_options::add);
      shell("cd " + at + " && git init -q -b main && git add -A && git commit -qm first");
      return at;
    }();
    return made;
  }

  Scratch scratch_;
};

// The code and the sentence of what a call throws.
struct Thrown {
  Errc code{};
  std::string sentence{};
  bool says(const std::string& part) const { return sentence.find(part) != std::string::npos; }
};
template <class F>
Thrown thrown_by(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

}  // namespace tiffany::agent::canvas_support
