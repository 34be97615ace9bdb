// A program that can be looked at: metrics on a unix socket, a trace file, a graceful shutdown.
//
//   observed /run/shop.metrics shop.trace    works until Ctrl-C; meanwhile:
//       curl --unix-socket /run/shop.metrics http://shop/metrics
//   observed                                 asks for its own metrics, and ends
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

#include <unistd.h>

#include "tiffany/io/file.hpp"
#include "tiffany/io/serve.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/observe/collectors.hpp"
#include "tiffany/observe/event_trace.hpp"
#include "tiffany/observe/shutdown.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

// A request is read and not looked at: there is one thing to be had here.
Task<void> answer(Socket client, observe::Metrics* metrics) {
  std::array<char, 4096> request;
  if (co_await client.read(request) == 0) co_return;
  const std::string text = co_await metrics->text();
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: " +
      std::to_string(text.size()) + "\r\nConnection: close\r\n\r\n";
  co_await client.write(head + text);
}

Task<void> serve_metrics(Listener* listener, observe::Metrics* metrics) {
  co_await serve(*listener, answer, metrics);
}

Task<void> bake(int loaf) { co_await sleep(1ms * loaf); }

Task<void> bakery() {
  try {
    for (int loaf = 1;; ++loaf) {
      spawn(bake, loaf % 5).named("bake");
      co_await sleep(1ms);
    }
  } catch (const SpawnDenied&) {
    co_return;  // the program is shutting down
  }
}

// What curl does, and then Ctrl-C.
Task<void> look_at_myself(Address metrics) {
  Socket server = co_await connect(metrics);
  co_await server.write(std::string("GET /metrics HTTP/1.1\r\nHost: shop\r\n\r\n"));
  std::string text;
  std::array<char, 4096> room;
  while (const std::size_t n = co_await server.read(room)) text.append(room.data(), n);
  for (const char* name : {"tasks_running_total", "tiffany_wakes_total{by=\"sleep\"}",
                           "task_run_latency_seconds_count{class=\"bake\"}"}) {
    std::printf("%s is %s\n", name, text.find(name) != std::string::npos ? "there" : "missing");
  }
  std::raise(SIGINT);
}

Task<int> program(std::string socket, std::string trace) {
  Scheduler& scheduler = *Scheduler::current();
  observe::Metrics metrics;
  observe::Recorder recorder(scheduler);
  const auto counters = observe::collect(metrics, scheduler);
  const auto times = recorder.collect(metrics);
  recorder.start();

  Listener listener = Listener::bind(Address::unix_path(socket));
  auto server = spawn(serve_metrics, &listener, &metrics).named("metrics").daemon();
  spawn(bakery).named("bakery");
  if (trace.empty()) {
    co_await sleep(20ms);
    spawn(look_at_myself, listener.local()).named("looks");
  }

  observe::ShutdownOptions options;
  options.drain = 100ms;
  const observe::ShutdownReport report = co_await observe::shut_down_on_signals(std::move(options));
  recorder.stop();
  const std::string text = observe::trace_file(recorder);
  if (!trace.empty()) {
    const File file = co_await open_file(trace, FileMode::truncate);
    co_await file.append(text);
    std::printf("%s\n", report.text().c_str());
  }
  std::printf("the report %s; the trace has %s\n", report.adds_up() ? "adds up" : "does not add up",
              text.find("\"bake\"") != std::string::npos ? "slices of bakers" : "nothing");
  co_return report.abandoned == 0 ? 0 : 1;
}

int main(int count, char** arguments) {
  if (count == 3) return run(program(arguments[1], arguments[2]));
  const std::string socket = "observed." + std::to_string(::getpid()) + ".socket";
  return run(program(socket, ""));
}
