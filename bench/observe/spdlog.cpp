// The rows of the log with spdlog, which formats and writes on the thread that has the line; the
// same text as ours.
#include <cstddef>
#include <memory>
#include <string>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include "log_cost.hpp"
#include "row.hpp"

namespace {

bench::LogCost write_lines(const bench::Suite& suite) {
  const std::size_t count = bench::lines_of(suite);
  const bench::TemporaryFile file;
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(
      "/proc/self/fd/" + std::to_string(file.descriptor()));
  spdlog::logger log("app", sink);
  log.set_pattern(R"({"timestamp":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","target":"%n",%v})",
                  spdlog::pattern_time_type::utc);
  return bench::cost_of_lines(
      count,
      [&] {
        for (std::size_t i = 0; i < count; ++i) {
          log.info(R"("message":"order shipped","fields":{{"order":{},"weight":{},"carrier":"{}",)"
                   R"("express":{},"items":{},"loc":"ours.cpp:136"}})",
                   i, 2.5, "post", true, 3);
        }
      },
      [&] { log.flush(); });
}
double log_line(const bench::Suite& suite) { return write_lines(suite).ns_of_caller; }
double log_file(const bench::Suite& suite) { return write_lines(suite).lines_per_second; }

const bench::Row rows[] = {
    {"log_line", "ns", bench::Weight::light, log_line},
    {"log_file", "lines/s", bench::Weight::light, log_file},
};

}  // namespace
