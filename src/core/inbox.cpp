#include "tiffany/core/inbox.hpp"

#include <map>
#include <mutex>
#include <utility>

namespace tiffany {

// The address that stands for "nobody reads this any more".
Message* Inbox::closed() noexcept { return reinterpret_cast<Message*>(std::uintptr_t{1}); }

struct Inbox::Published {
  std::mutex mutex;
  std::map<Uuid, std::weak_ptr<ExternalLine>> lines;
};

Inbox::Inbox() : published_(std::make_unique<Published>()) {}
Inbox::~Inbox() { close(); }

bool Inbox::post(std::unique_ptr<Message> message) noexcept {
  Message* head = arrived_.load(std::memory_order_relaxed);
  do {
    if (head == closed()) return false;
    message->next_ = head;
  } while (!arrived_.compare_exchange_weak(head, message.get()));
  static_cast<void>(message.release());
  wakeup_.notify();
  return true;
}

void Inbox::fetch() noexcept {
  Message* newest = arrived_.exchange(nullptr);
  Message* last = newest;
  Message* oldest = nullptr;
  while (newest != nullptr) {
    Message* next = std::exchange(newest->next_, oldest);
    oldest = newest;
    newest = next;
  }
  if (oldest == nullptr) return;
  if (queue_ == nullptr) {
    queue_ = oldest;
  } else {
    queue_tail_->next_ = oldest;
  }
  queue_tail_ = last;
}

std::size_t Inbox::drain(Scheduler& scheduler, std::size_t limit) noexcept {
  if (arrived_.load(std::memory_order_acquire) != nullptr) fetch();
  std::size_t delivered = 0;
  while (queue_ != nullptr && delivered < limit) {
    std::unique_ptr<Message> message(std::exchange(queue_, queue_->next_));
    message->deliver(scheduler);
    ++delivered;
  }
  return delivered;
}

void Inbox::publish(const Uuid& uuid, std::weak_ptr<ExternalLine> line) {
  const std::lock_guard lock(published_->mutex);
  published_->lines[uuid] = std::move(line);
}

void Inbox::forget(const Uuid& uuid) noexcept {
  const std::lock_guard lock(published_->mutex);
  published_->lines.erase(uuid);
}

std::shared_ptr<ExternalLine> Inbox::find(const Uuid& uuid) const {
  const std::lock_guard lock(published_->mutex);
  const auto found = published_->lines.find(uuid);
  return found == published_->lines.end() ? nullptr : found->second.lock();
}

void Inbox::close() noexcept {
  {
    const std::lock_guard lock(published_->mutex);
    published_->lines.clear();
  }
  Message* rest = arrived_.exchange(closed());
  if (rest == closed()) rest = nullptr;
  for (Message* list : {rest, std::exchange(queue_, nullptr)}) {
    while (list != nullptr) delete std::exchange(list, list->next_);
  }
}

}  // namespace tiffany
