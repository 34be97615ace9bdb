// The way in for other threads: a queue of messages that the scheduler drains every turn.
//
// Posting is lock-free and never blocks; it wakes the scheduler if it sleeps. Messages are
// delivered in the order they were posted. The inbox is shared with whoever may post, and outlives
// its scheduler; after that, posting is refused and the message destroyed by the poster.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tiffany/base/uuid.hpp"
#include "tiffany/core/reactor.hpp"

namespace tiffany {

class ExternalLine;
class Scheduler;

class Message {
 public:
  virtual ~Message() = default;
  // Called once, on the scheduler's thread.
  virtual void deliver(Scheduler& scheduler) noexcept = 0;

 private:
  friend class Inbox;
  Message* next_ = nullptr;
};

class Inbox {
 public:
  Inbox();
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // Any thread. False when the scheduler is gone.
  bool post(std::unique_ptr<Message> message) noexcept;

  // Who can be completed by UUID. Any thread.
  void publish(const Uuid& uuid, std::weak_ptr<ExternalLine> line);
  void forget(const Uuid& uuid) noexcept;
  std::shared_ptr<ExternalLine> find(const Uuid& uuid) const;

  // ---- The scheduler's side ----

  bool empty() const noexcept { return arrived_.load() == nullptr && queue_ == nullptr; }
  bool maybe_empty() const noexcept {
    return queue_ == nullptr && arrived_.load(std::memory_order_relaxed) == nullptr;
  }
  // Delivers at most `limit` messages and returns how many.
  std::size_t drain(Scheduler& scheduler, std::size_t limit) noexcept;
  void close() noexcept;
  Wakeup& wakeup() noexcept { return wakeup_; }

 private:
  static Message* closed() noexcept;
  void fetch() noexcept;

  std::atomic<Message*> arrived_{nullptr};  // newest first
  Message* queue_ = nullptr;                // oldest first
  Message* queue_tail_ = nullptr;
  Wakeup wakeup_;
  struct Published;
  std::unique_ptr<Published> published_;
};

}  // namespace tiffany
