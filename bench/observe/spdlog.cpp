// The row log_line with spdlog, which formats on this thread and writes on this thread; the same
// text as ours.
#include <cstddef>
#include <memory>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include "row.hpp"

namespace {

double ns_per_line(const bench::Suite& suite) {
  const std::size_t count = suite.quick() ? 20'000 : 100'000;
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_st>("/dev/null");
  spdlog::logger log("app", sink);
  log.set_pattern(R"({"timestamp":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","target":"%n",%v})",
                  spdlog::pattern_time_type::utc);
  const double took = bench::cpu_ns_of([&] {
    for (std::size_t i = 0; i < count; ++i) {
      log.info(R"("message":"order shipped","fields":{{"order":{},"weight":{},"carrier":"{}",)"
               R"("express":{},"items":{},"loc":"ours.cpp:136"}})",
               i, 2.5, "post", true, 3);
    }
  });
  return took / static_cast<double>(count);
}

const bench::Row row("log_line", "ns", bench::Weight::light, ns_per_line);

}  // namespace
