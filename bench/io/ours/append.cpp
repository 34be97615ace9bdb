#include "append.hpp"

#include "row.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/tiffany.hpp"

namespace {

tiffany::Task<double> append_all(std::string path, std::size_t batches) {
  const tiffany::File file = co_await tiffany::open_file(path, tiffany::FileMode::append);
  const std::string batch(append_row::kBatch, 'x');
  const append_row::Watch watch;
  for (std::size_t i = 0; i < batches; ++i) {
    const std::size_t written = co_await file.append(batch);
    bench::check(written == batch.size(), "all of a batch is written");
    co_await file.sync_data();
  }
  co_return watch.us() / static_cast<double>(batches);
}

double us_per_batch(const bench::Suite& suite) {
  const append_row::NewFile file;
  tiffany::Scheduler scheduler;
  return tiffany::run_on(scheduler, append_all(file.path(), append_row::batches(suite)));
}

const bench::Row row("append_sync", "us", bench::Weight::light, us_per_batch);

}  // namespace
