// The least that a log can do: records of 128 bytes with a checksum, written over the zeros of a
// file and synced. Each sync carries the records of all tasks that wait. There are no tasks, no
// index, and no user code.
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <unistd.h>

#include "tiffany/base/crc32c.hpp"
#include "workloads.hpp"

namespace {

using namespace durable_rows;

constexpr std::size_t kRecord = 128;
constexpr std::size_t kFile = std::size_t{16} << 20;
constexpr std::size_t kLargestBatch = std::size_t{1} << 20;

class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CREAT, 0644)) {
    bench::check(fd_ >= 0, "the file can be made");
    const std::string zeros(std::size_t{1} << 20, '\0');
    for (std::size_t at = 0; at < kFile; at += zeros.size()) put(zeros.data(), zeros.size(), at);
    bench::check(fsync(fd_) == 0, "the file can be synced");
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // So many records that are synced together.
  void commit(std::size_t records) {
    const std::size_t size = records * kRecord;
    if (at_ + size > kFile) at_ = 0;
    for (std::size_t i = 0; i < records; ++i) fill(&batch_[i * kRecord]);
    put(batch_.get(), size, at_);
    bench::check(fdatasync(fd_) == 0, "the file can be synced");
    at_ += size;
  }

 private:
  void fill(char* record) {
    std::memset(record, 'x', kRecord - 4);
    std::memcpy(record, &++number_, sizeof number_);
    const std::uint32_t crc = tiffany::crc32c(std::string_view(record, kRecord - 4));
    std::memcpy(record + kRecord - 4, &crc, 4);
  }
  void put(const char* bytes, std::size_t size, std::size_t at) {
    bench::check(pwrite(fd_, bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size),
                 "the file can be written");
  }

  int fd_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
  std::unique_ptr<char[]> batch_ = std::make_unique<char[]>(kLargestBatch);
};

double steps_per_second(std::size_t syncs, std::size_t at_once) {
  const Scratch scratch;
  File file(scratch.path() + "/log");
  const Stopwatch watch;
  for (std::size_t i = 0; i < syncs; ++i) file.commit(at_once);
  return static_cast<double>(syncs * at_once) / watch.seconds();
}

double sequential(const bench::Suite& suite) {
  return steps_per_second(sequential_steps(suite), 1);
}
double with_64(const bench::Suite& suite) {
  return steps_per_second(generations(suite, 64) * kSteps, 64);
}
double with_512(const bench::Suite& suite) {
  return steps_per_second(generations(suite, 512) * kSteps, 512);
}
double many(const bench::Suite& suite) {
  constexpr std::size_t kAtOnce = kLargestBatch / kRecord;
  return steps_per_second(many_tasks(suite) * kStepsOfMany / kAtOnce, kAtOnce);
}

// The median of one sync of so many records.
double sync_of(const bench::Suite& suite, std::size_t records) {
  const Scratch scratch;
  File file(scratch.path() + "/log");
  Latencies latencies;
  for (std::size_t i = 0; i < sequential_steps(suite); ++i) {
    const Stopwatch watch;
    file.commit(records);
    latencies.add(watch.us());
  }
  return latencies.at(0.5);
}
double sync_of_one(const bench::Suite& suite) { return sync_of(suite, 1); }
double sync_of_64(const bench::Suite& suite) { return sync_of(suite, 64); }

double record_size(const bench::Suite&) { return kRecord; }

using bench::Weight;
const bench::Row rows[] = {
    {"steps_sequential", "steps/s", Weight::light, sequential},
    {"steps_64", "steps/s", Weight::light, with_64},
    {"steps_512", "steps/s", Weight::light, with_512},
    {"step_p99_64", "us", Weight::light, sync_of_64},
    {"sync_latency", "us", Weight::light, sync_of_one},
    {"tasks_100k", "steps/s", Weight::heavy, many},
    {"bytes_per_step", "B", Weight::heavy, record_size},
};

}  // namespace
