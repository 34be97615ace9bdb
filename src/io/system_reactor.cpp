#include "tiffany/io/system_reactor.hpp"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "io/backend.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany {
namespace {

// Enough to overlap a few slow calls; what waits in the kernel needs none.
constexpr std::size_t kThreads = 4;

bool needs_descriptor(Operation::Kind kind) noexcept {
  using Kind = Operation::Kind;
  return kind != Kind::open && kind != Kind::rename && kind != Kind::unlink && kind != Kind::work;
}

class SystemReactor final : public Reactor {
 public:
  explicit SystemReactor(ReactorKind kind) noexcept
      : clock_(real_clock()), pool_(kThreads), kind_(kind) {}

  const char* name() const noexcept { return backend_ ? backend_->name() : "none yet"; }

  Time now() override { return clock_->now(); }
  bool virtual_time() const noexcept override { return false; }
  void advance_to(Time) override {}
  void wait(std::optional<Time> until, Wakeup& wakeup) override {
    if (backend_ == nullptr) return clock_->wait(until, wakeup);
    if (!backend_->finished.empty() || pool_.any_over()) return;
    std::optional<Duration> limit;
    if (until) limit = *until - now();
    backend_->wait(limit, wakeup);
  }

  bool submit(Scheduler& scheduler, Operation& op) override {
    if (backend_ == nullptr) {
      pool_.set_wakeup(scheduler.inbox()->wakeup());
      backend_ = make_backend();
    }
    if (op.fd < 0 && needs_descriptor(op.kind)) {  // it was closed, or never open
      op.result = -EBADF;
      return true;
    }
    op.pooled = op.kind == Operation::Kind::work;
    op.asked_for = false;
    op.state = Operation::State::in_flight;
    if (op.pooled && kind_ == ReactorKind::blocking) {
      op.result = io::perform(op);
      op.state = Operation::State::idle;
      return true;
    }
    if (op.pooled) {
      pool_.submit(op);
    } else if (backend_->submit(op)) {
      op.state = Operation::State::idle;
      return true;
    }
    ++in_flight_;
    return false;
  }
  bool take_back(Operation& op) noexcept override {
    if (op.state != Operation::State::in_flight || op.asked_for) return false;
    op.asked_for = true;
    if (op.pooled ? pool_.take_back(op) : backend_->take_back(op)) {
      op.state = Operation::State::idle;
      --in_flight_;
      return true;
    }
    ++asked_for_;
    return false;
  }
  void drop(Operation& op) noexcept override {
    const bool counted = op.asked_for;
    if (op.state == Operation::State::over) {
      backend_->finished.remove(op);
    } else if (op.pooled) {
      pool_.drop(op);
    } else {
      backend_->drop(op);
    }
    op.asked_for = counted;
    leave(op);
  }
  bool await_taken_back(Scheduler& scheduler) noexcept override {
    Wakeup& wakeup = scheduler.inbox()->wakeup();
    while (asked_for_ > 0 && scheduler.ready_len() == 0) {
      wakeup.prepare();
      wait(std::nullopt, wakeup);
      wakeup.finish();
      collect(scheduler, false);
    }
    return scheduler.ready_len() > 0;
  }
  void collect(Scheduler& scheduler, bool busy) noexcept override {
    backend_->look(busy);
    deliver(scheduler);
  }
  void closing(int fd) noexcept override {
    if (backend_ != nullptr) backend_->closing(fd);
  }

 private:
  std::unique_ptr<io::Backend> make_backend() {
    ReactorKind kind = kind_;
    if (const char* asked = std::getenv("TIFFANY_REACTOR");
        asked != nullptr && kind == ReactorKind::automatic) {
      const std::string_view text = asked;
      if (text == "uring") kind = ReactorKind::uring;
      if (text == "epoll") kind = ReactorKind::epoll;
      if (kind == ReactorKind::automatic && text != "automatic") {
        throw Error(Errc::no_io, "TIFFANY_REACTOR is \"" + std::string(text) +
                                     "\"; it can be uring, epoll or automatic.");
      }
    }
    if (kind == ReactorKind::uring || kind == ReactorKind::automatic) {
      if (std::unique_ptr<io::Backend> uring = io::make_uring()) return uring;
    }
    if (kind == ReactorKind::uring) {
      throw Error(
          Errc::no_io,
          "io_uring was asked for, but this kernel does not allow it or lacks a part of it. "
          "Use TIFFANY_REACTOR=epoll, or leave the choice to Tiffany.");
    }
    return io::make_epoll(kind == ReactorKind::blocking ? nullptr : &pool_);
  }
  void deliver(Scheduler& scheduler) noexcept {
    while (Operation* op = pool_.next_over()) backend_->over(*op);
    while (Operation* op = backend_->finished.pop()) {
      leave(*op);
      op->done(scheduler, *op);
    }
  }
  void leave(Operation& op) noexcept {
    if (op.asked_for) --asked_for_;
    op.state = Operation::State::idle;
    --in_flight_;
  }

  std::unique_ptr<Reactor> clock_;
  io::ThreadPool pool_;
  std::unique_ptr<io::Backend> backend_;
  ReactorKind kind_;
  std::size_t asked_for_ = 0;  // operations that are being taken back
};

}  // namespace

std::unique_ptr<Reactor> system_reactor(ReactorKind kind) {
  return std::make_unique<SystemReactor>(kind);
}
std::unique_ptr<Reactor> system_reactor() { return system_reactor(ReactorKind::automatic); }

const char* reactor_name(const Reactor& reactor) noexcept {
  const auto* system = dynamic_cast<const SystemReactor*>(&reactor);
  return system != nullptr ? system->name() : "none yet";
}

}  // namespace tiffany
