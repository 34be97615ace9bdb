// A sink of PAL that publishes events to a NATS server, for readers on other machines.
//
//   observe::PalNatsSink nats(observe::NatsOptions("nats.example.org", 4222));
//   spawn(observe::feed, &pal, &nats, &counts, filter, options).daemon();
//
//   $ nats sub 'tiffany.pal.agent.>'              # what all agents do
//   $ nats sub 'tiffany.pal.*.6d0f0000-...'       # all that is told of one task
//
// An event is published to "<prefix>.<kind>.<task>", where kind is agent, sched or runtime and task
// is its UUID; what was missed (a frame of type lagged) to "<prefix>.lagged". Snapshots are not
// published. The payload is the JSON of the event.
//
// The server confirms each event before the next one is published, so that PalSinkCounts::given is
// what has arrived. A connection that has broken is made again: at once when it worked before, else
// after 100 ms, and after twice as long each time, up to 30 s. Meanwhile events wait in the queue
// of the subscription, which is bounded. An event that was published when its connection broke is
// published again: it may arrive twice, with one "seq".
//
// Not done: TLS, and logins with keys. The first failure and the next success are said in the log
// (target tiffany::pal).
//
// Thread safety: none; a sink belongs to the thread of its scheduler.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tiffany/base/time.hpp"
#include "tiffany/io/buffered.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/observe/pal_sink.hpp"

namespace tiffany::observe {

class NatsOptions {
 public:
  explicit NatsOptions(std::string server = "127.0.0.1", std::uint16_t at_port = 4222)
      : host(std::move(server)), port(at_port) {}

  std::string host;  // a name or an address
  std::uint16_t port;
  std::string prefix = "tiffany.pal";  // of subjects: names with dots between them
  std::string user{};                  // with `password`
  std::string password{};
  std::string token{};  // instead of both
  Duration first_backoff = std::chrono::milliseconds(100);
  Duration longest_backoff = std::chrono::seconds(30);
};

class PalNatsSink final : public PalSink {
 public:
  // Connects with the first frame. Throws Errc::bad_argument for a prefix that is none.
  explicit PalNatsSink(NatsOptions options = NatsOptions());
  ~PalNatsSink() override;

  Task<void> take(const PalFrame& frame) override;
  // How often it was connected.
  std::uint64_t connections() const noexcept { return connections_; }

 private:
  struct Connection;

  Task<void> connect();
  Task<void> publish(std::string subject, const std::string& payload);
  std::string hello() const;
  std::string subject_of(const PalFrame& frame) const;
  void failed(std::string_view why);
  void works();

  NatsOptions options_;
  std::unique_ptr<Connection> connection_;  // null: there is none
  std::uint64_t connections_ = 0;
  std::size_t most_bytes_ = 0;  // of an event, as the server says
  Duration backoff_;            // before the attempt after the next one
  Time next_try_{};
  bool complained_ = false;
};

}  // namespace tiffany::observe
