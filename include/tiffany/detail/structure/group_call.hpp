// The wait for several waitables at once, with no types: what gather, all_settled, race and any are
// built of (detail/structure/handle_group.hpp, detail/structure/started.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "tiffany/core/handle.hpp"

namespace tiffany {

namespace detail {
[[noreturn]] void throw_empty_race(const char* what);
}

enum class GroupMode : std::uint8_t {
  gather,   // until all have completed, or one has not
  settled,  // until all have settled
  race,     // until one has settled
  any,      // until one has completed, or all have not
};

// The part that knows no types: a call that registers with a number of waitables.
class GroupCall : public SystemCall {
 public:
  // One for each awaited waitable; the derived call owns the array, or who made it.
  struct Entry {
    Waiter waiter;
    Waitable* target = nullptr;
  };

  Answer start(Scheduler& scheduler, TaskRecord& task);
  void withdraw(TaskRecord& task) noexcept override;
  void on_settled(Scheduler& scheduler, Waiter& waiter) noexcept override;
  std::string describe() const override;
  static constexpr WaitKind wait_kind() noexcept { return WaitKind::join; }
  void visit_waits(WaitVisitor& visitor) const override;
  bool needs_all() const noexcept override {
    return mode_ == GroupMode::gather || mode_ == GroupMode::settled;
  }

 protected:
  explicit GroupCall(GroupMode mode) noexcept : mode_(mode) {}
  GroupCall(GroupCall&& other) noexcept : SystemCall(), mode_(other.mode_) {}
  ~GroupCall() = default;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // The one that decided, or kNone when all had to be waited for.
  std::size_t decided() const noexcept { return decided_; }
  // Throws the error of the one that decided a gather or race, if it has one.
  void throw_decided() const;

  // What the awaited tasks have told, for the log of the running one. In two steps, so that a
  // result that cannot be copied leaves the log as it was: everything that can fail is done when
  // this is made, before the results are taken.
  class LogMerge {
   public:
    explicit LogMerge(const GroupCall& call) {
      if (call.told_) [[unlikely]]
        prepare(call);
    }
    void commit() noexcept {
      if (log_ != nullptr) [[unlikely]]
        log_->set_told(std::move(last_));
    }

   private:
    void prepare(const GroupCall& call);
    TaskLog* log_ = nullptr;
    Ref<LogLink> last_;
  };

  void attach(Entry* entries, std::size_t count) noexcept {
    entries_ = entries;
    count_ = count;
  }

 private:
  bool decides(TaskState state) const noexcept;

  Entry* entries_ = nullptr;
  std::size_t count_ = 0;
  std::size_t left_ = 0;
  std::size_t decided_ = kNone;
  GroupMode mode_;
  bool told_ = false;  // one of those that settled left something for the log
};

// The same wait over waitables that another object keeps, with no types:
// detail/structure/started.hpp is built of it. The call is kept in a variable, and asked after the
// wait which waitable decided.
template <GroupMode kMode>
class GroupWait final : public GroupCall {
 public:
  static constexpr CallName call_name{kMode == GroupMode::gather    ? "gather"
                                      : kMode == GroupMode::settled ? "all_settled"
                                      : kMode == GroupMode::race    ? "race"
                                                                    : "any"};
  using GroupCall::decided;
  using GroupCall::kNone;
  using GroupCall::LogMerge;
  using GroupCall::throw_decided;

  GroupWait() noexcept : GroupCall(kMode) {}
  // The entries must outlive the wait, and everything that is asked after it.
  void over(std::span<Entry> entries) noexcept { attach(entries.data(), entries.size()); }
  void finish() const noexcept {}
};

}  // namespace tiffany
