// What comes to a durable task: results of what it asked for, signals, updates, a cancel. The code
// is shown arrivals one by one in the order of the log, and none that is not on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/assert.hpp"

namespace tiffany::detail {

struct Failure;
struct KnownUpdate;
struct Slot;
struct TaskMail;

struct Arrival {
  enum class Kind : std::uint8_t { slot, signal, cancel, update };
  Kind kind = Kind::slot;
  bool failed = false;
  bool unknown = false;
  Slot* slot = nullptr;
  // Of the slot, when that is not known yet; the name of a signal; why the task was cancelled; the
  // id of an update, which may come again when its answer is forgotten.
  std::string id;
  std::string value;
  std::int64_t time = 0;
  std::uint64_t seq = 0;
  std::shared_ptr<TaskMail> mail{};
  std::shared_ptr<const Failure> failure{};  // of a failure in the log
  std::shared_ptr<KnownUpdate> update{};
};

// First in, first out; mostly there is one. Invariant: as many arrivals as were told to be on the
// disk can be taken, and never more than there are.
class Arrivals {
 public:
  bool empty() const noexcept { return first_ == all_.size(); }
  std::size_t size() const noexcept { return all_.size() - first_; }
  auto begin() const noexcept { return all_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() const noexcept { return all_.end(); }

  // Those of a log, all of which are on the disk.
  void load(std::vector<Arrival> all) {
    all_ = std::move(all);
    first_ = 0;
    synced_ = static_cast<std::uint32_t>(all_.size());
    cancels_ = 0;
    for (const Arrival& each : all_) cancels_ += each.kind == Arrival::Kind::cancel ? 1 : 0;
  }
  // One whose record was appended. Records of one task are synced in their order.
  void push(Arrival arrival) {
    cancels_ += arrival.kind == Arrival::Kind::cancel ? 1 : 0;
    all_.push_back(std::move(arrival));
  }
  void next_is_synced() noexcept {
    ++synced_;
    TIFFANY_ASSERT(synced_ <= size(), "more arrivals are synced than were recorded");
  }
  bool can_take() const noexcept { return synced_ > 0; }
  Arrival take() {
    TIFFANY_ASSERT(synced_ > 0 && synced_ <= size(),
                   "an arrival was taken that is not on the disk");
    --synced_;
    Arrival taken = std::move(all_[first_]);
    cancels_ -= taken.kind == Arrival::Kind::cancel ? 1 : 0;
    if (++first_ == all_.size() && all_.capacity() > kRoomKept) {
      // Most tasks wait for long after a replay: they need not keep the memory of their history.
      std::vector<Arrival>().swap(all_);
      first_ = 0;
    } else if (first_ == all_.size() || (first_ >= kMostTaken && first_ * 2 >= all_.size())) {
      // No more is moved than was taken.
      all_.erase(all_.begin(), begin());
      first_ = 0;
    }
    return taken;
  }
  // The oldest cancel that the code has not been shown. Null: none.
  const Arrival* first_cancel() const noexcept {
    if (cancels_ == 0) return nullptr;
    for (const Arrival& each : *this) {
      if (each.kind == Arrival::Kind::cancel) return &each;
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kRoomKept = 2;      // so that a task of steps does not allocate
  static constexpr std::size_t kMostTaken = 1024;  // which may be kept though there are few others
  std::vector<Arrival> all_;
  // Of 32 bits, as a task that waits has one of these: a log of more arrivals is refused before.
  std::uint32_t first_ = 0;    // those before it were taken
  std::uint32_t synced_ = 0;   // how many of the others are on the disk
  std::uint32_t cancels_ = 0;  // how many of the others are cancels
};

}  // namespace tiffany::detail
