#include "tiffany/serve/observe_pages.hpp"

#include <utility>

namespace tiffany::http {

namespace {

constexpr const char* kPlain = "text/plain; charset=utf-8";

}  // namespace

bool ObservePages::knows(const Request& request) noexcept {
  const std::string_view path = request.path();
  return path == "/metrics" || path == "/healthz" || path == "/readyz" || path == "/tasks";
}

void ObservePages::set_ready(bool ready, std::string why) {
  ready_ = ready;
  why_ = std::move(why);
}

Task<void> ObservePages::handle(Exchange& exchange) {
  const Request& request = exchange.request();
  if (!knows(request)) {
    throw HttpError(404,
                    "There is no such page. There are /metrics, /healthz, /readyz and /tasks.");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    Response refused(405, kPlain, "This page can only be read (GET, HEAD).\n");
    refused.headers.set("allow", "GET, HEAD");
    co_await exchange.respond(std::move(refused));
    co_return;
  }
  const std::string_view path = request.path();
  Response answer(200, kPlain, "ok\n");
  answer.headers.set("cache-control", "no-store");
  if (path == "/metrics") {
    const auto accepted = request.headers.find("accept").value_or("");
    const bool open = accepted.find("application/openmetrics-text") != std::string_view::npos;
    answer.body = co_await metrics_.text(open ? observe::MetricFormat::open_metrics
                                              : observe::MetricFormat::prometheus);
    answer.headers.set("content-type",
                       open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                            : "text/plain; version=0.0.4; charset=utf-8");
  } else if (path == "/readyz" && !ready_) {
    answer.status = 503;
    answer.body = why_ + "\n";
  } else if (path == "/tasks") {
    const bool json = request.parameter("format").value_or("") == "json";
    answer.body = json ? scheduler_.dump_json() : scheduler_.dump_text();
    if (json) answer.headers.set("content-type", "application/json");
  }
  co_await exchange.respond(std::move(answer));
}

}  // namespace tiffany::http
