// Pages about a running program, for Prometheus, for an orchestrator, and for people with curl.
//
//   observe::Metrics metrics;
//   http::ObservePages pages(metrics, scheduler);
//   http::Server server(pages);
//   Listener listener = Listener::bind(Address::unix_path("/run/shop/http"));
//   co_await server.serve(listener);
//
//   $ curl --unix-socket /run/shop/http http://x/metrics
//
//   /metrics   Prometheus text 0.0.4, or OpenMetrics when the client accepts that
//   /healthz   200: the loop turns
//   /readyz    200, or 503 while the program is not ready (set_ready) or is ending
//   /tasks     what every task waits for, with its await stack; as JSON with ?format=json
//
// Only GET and HEAD. A handler of a program of its own passes on to handle() what it does not know:
// pages.knows(request) says whether there is such a page.
//
// /tasks shows names and places of the program: serve it where only its operators can ask.
#pragma once

#include <string>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/observe/metrics.hpp"
#include "tiffany/serve/http_server.hpp"

namespace tiffany::http {

class ObservePages : public Handler {
 public:
  // Both outlive the pages.
  ObservePages(observe::Metrics& metrics, const Scheduler& scheduler) noexcept
      : metrics_(metrics), scheduler_(scheduler) {}

  Task<void> handle(Exchange& exchange) override;
  static bool knows(const Request& request) noexcept;
  // `why` is what /readyz says while it is not.
  void set_ready(bool ready, std::string why = "not ready");

 private:
  observe::Metrics& metrics_;
  const Scheduler& scheduler_;
  bool ready_ = true;
  std::string why_;
};

}  // namespace tiffany::http
