// Promises that are completed from outside: from another thread, or by UUID from anywhere.
//
//   ExternalPromise<int> reply;
//   std::thread([reply]() mutable { reply.complete(compute()); }).detach();
//   int answer = co_await reply.future();
//
// Making one and taking its future happen on the scheduler's thread. Completing it is thread-safe,
// does not block, and wakes an idle scheduler at once. The first completion counts; later ones are
// ignored and counted. A pending external promise keeps its scheduler from calling a wait a
// deadlock. When every ExternalPromise object is dropped, and its UUID was never asked for, the
// promise fails with Errc::broken_promise.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "tiffany/base/uuid.hpp"
#include "tiffany/core/inbox.hpp"
#include "tiffany/core/promise.hpp"

namespace tiffany {

// What completers share, on any thread: who was first, and where to send the result.
class ExternalLine {
 public:
  virtual ~ExternalLine() = default;
  ExternalLine(const ExternalLine&) = delete;
  ExternalLine& operator=(const ExternalLine&) = delete;

  // True for the first caller only; the others are counted.
  bool claim() noexcept;
  std::uint64_t ignored() const noexcept { return ignored_.load(); }

 protected:
  explicit ExternalLine(std::shared_ptr<Inbox> inbox) noexcept : inbox_(std::move(inbox)) {}

  std::shared_ptr<Inbox> inbox_;

 private:
  std::atomic<bool> claimed_{false};
  std::atomic<std::uint64_t> ignored_{0};
};

namespace detail {

template <class T>
class ExternalState;

template <class T>
class TypedLine final : public ExternalLine, public std::enable_shared_from_this<TypedLine<T>> {
 public:
  explicit TypedLine(std::shared_ptr<Inbox> inbox) noexcept : ExternalLine(std::move(inbox)) {}

  bool complete(ValueOf<T> value) { return send<Completion>(std::move(value)); }
  bool fail(std::exception_ptr error) { return send<Failure>(std::move(error)); }
  // What is to be posted when the last ExternalPromise object is gone.
  std::unique_ptr<Message> farewell() { return make<Dropped>(); }
  void post(std::unique_ptr<Message> message) noexcept { inbox_->post(std::move(message)); }

 private:
  friend class ExternalState<T>;

  class Delivery : public Message {
   public:
    explicit Delivery(std::shared_ptr<TypedLine> line) noexcept : line_(std::move(line)) {}
    void deliver(Scheduler& scheduler) noexcept final {
      if (ExternalState<T>* state = line_->state_) apply(scheduler, *state);
    }

   protected:
    virtual void apply(Scheduler& scheduler, ExternalState<T>& state) noexcept = 0;
    std::shared_ptr<TypedLine> line_;
  };
  class Completion final : public Delivery {
   public:
    Completion(std::shared_ptr<TypedLine> line, ValueOf<T> value)
        : Delivery(std::move(line)), value_(std::move(value)) {}

   private:
    void apply(Scheduler& scheduler, ExternalState<T>& state) noexcept override {
      state.complete(scheduler, std::move(value_));
      state.delivered(scheduler);
    }
    ValueOf<T> value_;
  };
  class Failure final : public Delivery {
   public:
    Failure(std::shared_ptr<TypedLine> line, std::exception_ptr error) noexcept
        : Delivery(std::move(line)), error_(std::move(error)) {}

   private:
    void apply(Scheduler& scheduler, ExternalState<T>& state) noexcept override {
      state.fail(scheduler, std::move(error_));
      state.delivered(scheduler);
    }
    std::exception_ptr error_;
  };
  class Dropped final : public Delivery {
   public:
    using Delivery::Delivery;

   private:
    void apply(Scheduler& scheduler, ExternalState<T>& state) noexcept override {
      if (!state.published() && this->line_->claim()) {
        state.abandon();
        state.delivered(scheduler);
      }
      state.dropped();
    }
  };

  template <class M, class... Args>
  std::unique_ptr<Message> make(Args&&... args) {
    return std::make_unique<M>(this->shared_from_this(), std::forward<Args>(args)...);
  }
  // Whatever can throw comes before the claim, or nobody could complete the promise any more.
  template <class M, class... Args>
  bool send(Args&&... args) {
    std::unique_ptr<Message> message = make<M>(std::forward<Args>(args)...);
    return claim() && inbox_->post(std::move(message));
  }

  ExternalState<T>* state_ = nullptr;  // the scheduler's thread only
};

// The scheduler's side. Its line holds one reference to it until the result has been delivered and
// the last ExternalPromise object is gone, or the scheduler is.
template <class T>
class ExternalState final : public PromiseState<T>, private ExternalEntry {
 public:
  static ExternalState* make(Scheduler& scheduler, std::shared_ptr<TypedLine<T>> line) {
    void* memory = scheduler.arena().allocate(sizeof(ExternalState));
    auto* state = new (memory) ExternalState(scheduler, std::move(line));
    state->line_->state_ = state;
    scheduler.add_external(*state);
    return state;
  }
  std::string describe() const override { return "an external promise"; }
  bool take_over(Scheduler& scheduler) noexcept override {
    if (!line_->claim()) return false;
    delivered(scheduler);
    return true;
  }

  bool published() const noexcept { return published_; }
  const Uuid& uuid() {
    if (!published_) {
      uuid_ = Uuid::random(scheduler_.random());
      scheduler_.inbox()->publish(uuid_, line_);
      published_ = true;
    }
    return uuid_;
  }
  void delivered(Scheduler& scheduler) noexcept {
    scheduler.external_settled();
    if (published_) scheduler.inbox()->forget(uuid_);
    delivered_ = true;
    maybe_unlink();
  }
  void dropped() noexcept {
    dropped_ = true;
    maybe_unlink();
  }

 private:
  ExternalState(Scheduler& scheduler, std::shared_ptr<TypedLine<T>> line) noexcept
      : scheduler_(scheduler), line_(std::move(line)) {
    this->external_ = true;
  }
  ~ExternalState() = default;

  void maybe_unlink() noexcept {
    if (!delivered_ || !dropped_) return;
    scheduler_.remove_external(*this);
    scheduler_gone();
  }
  void scheduler_gone() noexcept override {
    line_->state_ = nullptr;
    this->release();
  }
  void dispose() noexcept override {
    this->ExternalState::~ExternalState();
    Arena::deallocate(this, sizeof(ExternalState));
  }

  Scheduler& scheduler_;
  std::shared_ptr<TypedLine<T>> line_;
  Uuid uuid_;
  bool published_ = false;
  bool delivered_ = false;
  bool dropped_ = false;
};

[[noreturn]] void throw_unknown_promise(const Uuid& uuid, const char* why);

}  // namespace detail

// Copyable; all copies are the same promise.
template <class T>
class ExternalPromise {
 public:
  // From a task.
  ExternalPromise() {
    Scheduler& scheduler = Scheduler::require("Making an external promise");
    auto line = std::make_shared<detail::TypedLine<T>>(scheduler.inbox());
    owner_ = std::make_shared<Owner>(line, line->farewell());
    owner_->state = detail::ExternalState<T>::make(scheduler, std::move(line));
  }

  // ---- The scheduler's thread, while the scheduler lives ----

  Future<T> future() const { return Future<T>(owner_->state); }
  // Lets anybody who knows it complete the promise, through the scheduler's Gateway. From here on
  // the promise stays pending when all ExternalPromise objects are gone.
  const Uuid& uuid() const { return owner_->state->uuid(); }

  // ---- Any thread ----

  // True when this completion counted; false when another came first or the scheduler is gone.
  bool complete(ValueOf<T> value) const { return owner_->line->complete(std::move(value)); }
  bool complete() const
    requires std::is_void_v<T>
  {
    return complete(Unit());
  }
  bool fail(std::exception_ptr error) const { return owner_->line->fail(std::move(error)); }
  // How many completions came too late.
  std::uint64_t ignored() const noexcept { return owner_->line->ignored(); }

 private:
  // Dies with the last copy, on whatever thread that is; the state hears of it by message.
  struct Owner {
    Owner(std::shared_ptr<detail::TypedLine<T>> l, std::unique_ptr<Message> f) noexcept
        : line(std::move(l)), farewell(std::move(f)) {}
    ~Owner() { line->post(std::move(farewell)); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    std::shared_ptr<detail::TypedLine<T>> line;
    std::unique_ptr<Message> farewell;  // made while there was memory
    detail::ExternalState<T>* state = nullptr;
  };

  std::shared_ptr<Owner> owner_;
};

// Completes external promises of one scheduler by UUID, from any thread, also when the scheduler is
// gone (then nothing is known there any more). Made on the scheduler's thread and copied to where
// completions arrive.
class Gateway {
 public:
  explicit Gateway(const Scheduler& scheduler) noexcept : inbox_(scheduler.inbox()) {}

  // True when it counted, false when another completion came first. An error
  // (Errc::unknown_promise) when no such promise is pending or it holds another type.
  template <class T>
  bool complete(const Uuid& uuid, T value) const {
    return find<T>(uuid)->complete(std::move(value));
  }
  // One that carries no value.
  bool complete(const Uuid& uuid) const { return find<void>(uuid)->complete(Unit()); }
  template <class T>
  bool fail(const Uuid& uuid, std::exception_ptr error) const {
    return find<T>(uuid)->fail(std::move(error));
  }

 private:
  template <class T>
  std::shared_ptr<detail::TypedLine<T>> find(const Uuid& uuid) const {
    const std::shared_ptr<ExternalLine> line = inbox_->find(uuid);
    if (line == nullptr) detail::throw_unknown_promise(uuid, "is pending here");
    auto typed = std::dynamic_pointer_cast<detail::TypedLine<T>>(line);
    if (typed == nullptr) detail::throw_unknown_promise(uuid, "takes a value of this type");
    return typed;
  }

  std::shared_ptr<Inbox> inbox_;
};

}  // namespace tiffany
