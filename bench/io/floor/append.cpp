#include "append.hpp"

#include <fcntl.h>

#include "row.hpp"

namespace {

double us_per_batch(const bench::Suite& suite) {
  const append_row::NewFile file;
  const int fd = ::open(file.path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  bench::check(fd >= 0, "the file can be opened");
  const std::string batch(append_row::kBatch, 'x');
  const std::size_t batches = append_row::batches(suite);
  const append_row::Watch watch;
  for (std::size_t i = 0; i < batches; ++i) {
    bench::check(::write(fd, batch.data(), batch.size()) == static_cast<ssize_t>(batch.size()) &&
                     ::fdatasync(fd) == 0,
                 "a batch is written and synced");
  }
  const double us = watch.us() / static_cast<double>(batches);
  ::close(fd);
  return us;
}

const bench::Row row("append_sync", "us", bench::Weight::light, us_per_batch);

}  // namespace
