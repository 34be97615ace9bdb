#include "tiffany/serve/otlp.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <utility>
#include <vector>

#include "tiffany/core/cancel.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/serve/http_client.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::http {

namespace {

using observe::EndedSpan;

class SpanExporter {
 public:
  SpanExporter(observe::Tracer& tracer, OtlpOptions options)
      : tracer_(tracer), options_(std::move(options)) {}

  Task<void> run() {
    for (;;) {
      // In small steps: many spans are sent before the interval is over.
      const Time due = Scheduler::require("export_spans").deadline_in(options_.interval);
      const Duration step =
          std::max<Duration>(options_.interval / 10, std::chrono::milliseconds(1));
      while (now() < due && tracer_.size() < options_.batch) co_await sleep(step);
      co_await send_all(options_.attempts);
    }
  }
  // What was taken and not settled stays in `pending_`: a cancel in the middle loses none of it.
  Task<void> send_all(int attempts) {
    for (EndedSpan& span : tracer_.take()) pending_.push_back(std::move(span));
    while (!pending_.empty()) {
      const std::size_t count = std::min(pending_.size(), options_.batch);
      const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(count);
      const std::vector<EndedSpan> some(pending_.begin(), end);
      const bool taken = co_await send(some, attempts);
      (taken ? counts().sent : counts().refused) += count;
      pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }

 private:
  Task<bool> send(const std::vector<EndedSpan>& some, int attempts) {
    Request request("POST", options_.path);
    request.headers.set("content-type", "application/json");
    request.body = observe::otlp_json(some, options_.service);
    Duration pause = options_.first_pause;
    for (int attempt = 1;; ++attempt) {
      Duration wait = pause;
      const Verdict verdict = co_await try_once(request, wait);
      if (verdict == Verdict::taken) co_return true;
      if (verdict == Verdict::refused || attempt >= attempts) co_return false;
      ++counts().retries;
      co_await sleep(std::min(wait, options_.longest_pause));
      pause = std::min(pause * 2, options_.longest_pause);
    }
  }

  enum class Verdict : unsigned char { taken, refused, later };
  Task<Verdict> try_once(const Request& request, Duration& wait) {
    try {
      auto answer = co_await within(options_.timeout, fetch(options_.collector, request));
      if (answer.timed_out()) co_return Verdict::later;
      const Response response = std::move(answer).value();
      if (response.status >= 200 && response.status < 300) co_return Verdict::taken;
      const bool again = response.status == 429 || response.status == 502 ||
                         response.status == 503 || response.status == 504;
      if (!again) co_return Verdict::refused;
      if (const auto after = response.headers.find("retry-after")) {
        int seconds = 0;
        const auto read = std::from_chars(after->data(), after->data() + after->size(), seconds);
        if (read.ec == std::errc() && seconds >= 0) wait = std::chrono::seconds(seconds);
      }
      co_return Verdict::later;
    } catch (const IoError&) {
      co_return Verdict::later;  // not there, or gone
    } catch (const HttpError&) {
      co_return Verdict::refused;  // what is there is no collector
    }
  }

  OtlpCounts& counts() noexcept { return options_.counts != nullptr ? *options_.counts : own_; }

  observe::Tracer& tracer_;
  OtlpOptions options_;
  std::deque<EndedSpan> pending_;
  OtlpCounts own_;
};

}  // namespace

Task<void> export_spans(observe::Tracer* tracer, OtlpOptions options) {
  const Duration farewell = options.farewell;
  SpanExporter exporter(*tracer, std::move(options));
  std::exception_ptr cancelled;
  try {
    co_await exporter.run();
  } catch (const Cancelled&) {
    cancelled = std::current_exception();
  }
  co_await shield(within(farewell, exporter.send_all(1)));
  std::rethrow_exception(cancelled);
}

}  // namespace tiffany::http
