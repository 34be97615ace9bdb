// A parallel `du`: every directory is read by a task, the blocking calls run on threads, and the
// sizes come back up the tree.
//
//   disk_usage /some/directory
//   disk_usage                    makes a small tree of its own, measures and removes it
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tiffany/io/offload.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;
namespace fs = std::filesystem;

struct Listing {
  std::uintmax_t bytes = 0;
  std::vector<std::string> directories;
};

// Blocks, so it runs on a thread.
Listing list(const std::string& path) {
  Listing found;
  std::error_code ignored;  // what cannot be read counts as nothing
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    if (entry.is_symlink(ignored)) continue;
    if (entry.is_directory(ignored)) found.directories.push_back(entry.path().string());
    if (entry.is_regular_file(ignored)) found.bytes += entry.file_size(ignored);
  }
  return found;
}

Task<std::uintmax_t> usage(std::string path) {
  const Listing found = co_await offload(list, path);
  std::vector<Handle<std::uintmax_t>> below;
  for (const std::string& directory : found.directories) below.push_back(spawn(usage, directory));
  std::uintmax_t bytes = found.bytes;
  for (const std::uintmax_t part : co_await gather(below)) bytes += part;
  co_return bytes;
}

Task<void> program(std::string path) {
  const std::uintmax_t bytes = co_await usage(path);
  std::printf("%ju bytes\n", bytes);
}

int main(int count, char** arguments) {
  if (count > 1) return run(program(arguments[1]));
  const fs::path tree = fs::temp_directory_path() / ("disk_usage-" + std::to_string(getpid()));
  for (const char* name : {"a/b/c", "a/d", "e"}) {
    fs::create_directories(tree / name);
    std::ofstream(tree / name / "file") << std::string(1000, 'x');
  }
  const int code = run(program(tree.string()));
  fs::remove_all(tree);
  return code;
}
