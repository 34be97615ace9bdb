#include "tiffany/world/system_reactor.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/core/scheduler.hpp"
#include "world/backend.hpp"

namespace tiffany {
namespace {

// How many completions a turn of the scheduler takes; what is left comes with the next. As many as
// it takes of messages from other threads: enough that the turn costs more than asking again.
constexpr std::size_t kMostInATurn = 1024;
// More threads than this are a mistake of the caller, who would hear of it from the system much
// later.
constexpr std::size_t kMostThreads = 4096;

std::size_t checked(std::size_t most, const char* what) {
  if (most >= 1 && most <= kMostThreads) return most;
  throw Error(Errc::bad_argument, std::string(what) + "(" + std::to_string(most) +
                                      ") was asked for; from 1 to " + std::to_string(kMostThreads) +
                                      " threads are possible.");
}

bool needs_descriptor(Operation::Kind kind) noexcept {
  using Kind = Operation::Kind;
  return kind != Kind::open && kind != Kind::rename && kind != Kind::unlink && kind != Kind::work;
}

ReactorKind kind_from_environment() {
  const char* const asked = std::getenv("TIFFANY_REACTOR");
  const std::string_view text = asked != nullptr ? asked : "";
  if (text.empty() || text == "automatic") return ReactorKind::automatic;
  if (text == "uring") return ReactorKind::uring;
  if (text == "epoll") return ReactorKind::epoll;
  constexpr std::size_t kShown = 40;
  throw Error(Errc::no_io,
              "The environment variable TIFFANY_REACTOR is \"" +
                  std::string(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "") +
                  "\", and there is no reactor of that name. Set it to uring (io_uring), epoll or "
                  "automatic, or unset it: then Tiffany takes the best one that works.");
}

class SystemReactor final : public Reactor {
 public:
  SystemReactor(ReactorKind kind, const ReactorOptions& options)
      : clock_(real_clock()),
        files_(options.file_threads()),
        offloads_(options.offload_threads()),
        names_(options.name_threads()),
        kind_(kind) {}

  const char* name() const noexcept { return backend_ ? backend_->name() : "none yet"; }

  Time now() override { return clock_->now(); }
  bool virtual_time() const noexcept override { return false; }
  bool performs_operations() const noexcept override { return true; }
  void advance_to(Time) override {}
  void wait(std::optional<Time> until, Wakeup& wakeup) override {
    if (backend_ == nullptr) return clock_->wait(until, wakeup);
    if (!backend_->finished.empty()) return;
    for (const world::ThreadPool* pool : {&files_, &offloads_, &names_}) {
      if (pool->any_over()) return;
    }
    std::optional<Duration> limit;
    if (until) limit = *until - now();
    backend_->wait(limit, wakeup);
  }

  bool submit(Scheduler& scheduler, Operation& op) override {
    if (backend_ == nullptr) {
      for (world::ThreadPool* pool : {&files_, &offloads_, &names_}) {
        pool->set_wakeup(scheduler.inbox()->wakeup());
      }
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
      op.result = world::perform(op);
      op.state = Operation::State::idle;
      return true;
    }
    if (op.pooled) {
      pool_of(op).submit(op);
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
    if (op.pooled ? pool_of(op).take_back(op) : backend_->take_back(op)) {
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
      pool_of(op).drop(op);
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
  std::unique_ptr<world::Backend> make_backend() {
    ReactorKind kind = kind_;
    if (kind == ReactorKind::automatic) kind = kind_from_environment();
    if (kind == ReactorKind::uring || kind == ReactorKind::automatic) {
      if (std::unique_ptr<world::Backend> uring = world::make_uring()) return uring;
    }
    if (kind == ReactorKind::uring) {
      throw Error(
          Errc::no_io,
          "io_uring was asked for, but this kernel does not allow it or lacks a part of it. "
          "Use TIFFANY_REACTOR=epoll, or leave the choice to Tiffany.");
    }
    return world::make_epoll(kind == ReactorKind::blocking ? nullptr : &files_);
  }
  world::ThreadPool& pool_of(const Operation& op) noexcept {
    if (op.kind != Operation::Kind::work) return files_;
    return op.flags == Operation::kNames ? names_ : offloads_;
  }
  void deliver(Scheduler& scheduler) noexcept {
    for (world::ThreadPool* pool : {&files_, &offloads_, &names_}) {
      while (Operation* op = pool->next_over()) backend_->over(*op);
    }
    for (std::size_t left = kMostInATurn; left > 0; --left) {
      Operation* const op = backend_->finished.pop();
      if (op == nullptr) return;
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
  world::ThreadPool files_;
  world::ThreadPool offloads_;
  world::ThreadPool names_;
  std::unique_ptr<world::Backend> backend_;
  ReactorKind kind_;
  std::size_t asked_for_ = 0;  // operations that are being taken back
};

}  // namespace

ReactorOptions&& ReactorOptions::offload_threads(std::size_t most) && {
  offload_ = checked(most, "offload_threads");
  return std::move(*this);
}
ReactorOptions&& ReactorOptions::name_threads(std::size_t most) && {
  names_ = checked(most, "name_threads");
  return std::move(*this);
}
ReactorOptions&& ReactorOptions::file_threads(std::size_t most) && {
  files_ = checked(most, "file_threads");
  return std::move(*this);
}

std::unique_ptr<Reactor> system_reactor(ReactorKind kind, ReactorOptions options) {
  return std::make_unique<SystemReactor>(kind, options);
}
std::unique_ptr<Reactor> system_reactor() { return system_reactor(ReactorKind::automatic); }

const char* reactor_name(const Reactor& reactor) noexcept {
  const auto* system = dynamic_cast<const SystemReactor*>(&reactor);
  return system != nullptr ? system->name() : "none yet";
}

}  // namespace tiffany
