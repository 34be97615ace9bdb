// GET /healthz of the daemon: processor time for each request of wrk.
#include "serve/daemon_under_load.hpp"

namespace {

using namespace serve_rows;

double healthz(const bench::Suite& suite) {
  const Scratch scratch;
  Daemon daemon(scratch.path());
  return wrk_cost(suite, daemon.process(), daemon.port());
}
const bench::Row row("healthz", "us", bench::Weight::heavy, healthz);

}  // namespace
