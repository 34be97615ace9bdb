// A directory of files, processed in durable steps: a task for each file, three at a time, and a
// report at the end. Stop it when you like, and start it again: what is done is not done again.
//
//   batch <directory>         makes <directory>/report.txt; its log is in <directory>/.wal
//   batch                     a demo, on a directory of its own that it stops half-way
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tiffany/base/sha256.hpp"
#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;
namespace fs = std::filesystem;

struct Digest {
  std::string file;
  std::uint64_t bytes = 0;
  std::string sha256;
};
TIFFANY_JSON(Digest, file, bytes, sha256);

// For the demo.
int files_read = 0;
std::function<void()> after_reading = [] {};

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  ++files_read;
  after_reading();
  return content;
}

// ---- The tasks ----

Durable<Digest> digest(Flow& flow, std::string directory, std::string file) {
  co_return co_await flow.step("read", StepOptions().retry(Retry(3)), [&] {
    const std::string content = content_of(fs::path(directory) / file);
    return Digest{file, content.size(), sha256_hex(content)};
  });
}

std::vector<std::string> list(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().filename() != "report.txt") {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

void write_report(const std::string& directory, const std::vector<Digest>& digests) {
  const fs::path path = fs::path(directory) / "report.txt";
  std::ofstream out(path.string() + ".new");
  for (const Digest& each : digests) {
    out << each.sha256 << ' ' << each.bytes << ' ' << each.file << '\n';
  }
  out.close();
  fs::rename(path.string() + ".new", path);
}

Durable<int> batch(Flow& flow, std::string directory) {
  const auto names = co_await flow.step("list", [&] { return list(directory); });
  std::vector<DurableHandle<Digest>> running;
  std::vector<Digest> digests;
  for (std::size_t next = 0; next < names.size() || !running.empty();) {
    if (next < names.size() && running.size() < 3) {
      running.push_back(co_await flow.spawn<Digest>("digest", directory, names[next++]));
      continue;
    }
    const auto first = co_await flow.race(running);
    digests.push_back(first.value);
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(first.index));
  }
  std::sort(digests.begin(), digests.end(),
            [](const Digest& a, const Digest& b) { return a.file < b.file; });
  co_await flow.step("report", [&] { write_report(directory, digests); });
  co_return static_cast<int>(digests.size());
}

// ---- The process ----

// Goes on with the batch of a directory, or begins it. Stops after so many files, if any are given.
Task<void> process(std::string directory, int stop_after) {
  Registry types;
  types.add("batch", 1, batch);
  types.add("digest", 1, digest);
  Host host(types, wal::LogOptions(directory + "/.wal"));
  const Recovery found = co_await host.open();
  std::printf(found.resumed > 0 ? "the batch goes on\n" : "a new batch\n");
  const Uuid id = Uuid::derived(Uuid(), directory);
  co_await host.start_as(id, "batch", directory);
  if (stop_after > 0) {
    ManualResetEvent enough;
    after_reading = [&] {
      if (files_read == stop_after) enough.set();
    };
    co_await enough.wait();
    after_reading = [] {};
    co_await host.close();
    std::printf("stopped half-way\n");
    co_return;
  }
  const int files = co_await host.result<int>(id);
  std::printf("%d files are in the report\n", files);
  co_await host.close();
}

int main(int argc, char** argv) {
  if (argc > 1) return run(process(argv[1], 0));

  std::string directory = (fs::temp_directory_path() / "tiffany-batch-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  for (int i = 10; i < 30; ++i) {
    std::ofstream(directory + "/page" + std::to_string(i) + ".txt") << "This is page " << i << '\n';
  }
  if (const int failed = run(process(directory, 8))) return failed;
  if (const int failed = run(process(directory, 0))) return failed;
  std::printf("20 files were read %d times in all\n", files_read);
  std::ifstream report(directory + "/report.txt");
  std::string line;
  for (int i = 0; i < 3 && std::getline(report, line); ++i) std::printf("%s\n", line.c_str());
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}
