// The log of a task: what it inherited, and behind that what it told itself.
//
// Both are chains that share what they have in common. A snapshot is one more reference, an entry
// is one more link, and what a child told becomes part of its parent's log with one link too,
// however long it is. Nothing here recurses, so chains may be as long as memory allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/arena.hpp"
#include "tiffany/base/ref.hpp"
#include "tiffany/core/id.hpp"

namespace tiffany {

// One entry, or all that another task told, behind what was told before.
class LogLink {
 public:
  LogLink(Ref<LogLink> before, std::string text) noexcept
      : size_(size_of(before.get()) + 1), before_(before.detach()), text_(std::move(text)) {}
  LogLink(Ref<LogLink> before, Ref<LogLink> inner) noexcept
      : size_(size_of(before.get()) + inner->size_),
        before_(before.detach()),
        inner_(inner.detach()) {}
  LogLink(const LogLink&) = delete;
  LogLink& operator=(const LogLink&) = delete;

  // How many entries there are up to here.
  static std::size_t size_of(const LogLink* last) noexcept {
    return last != nullptr ? last->size_ : 0;
  }
  // Writes them to where the entries that end at `end` belong.
  static void copy(const LogLink* last, std::string* end);

  void add_ref() noexcept { ++refs_; }
  void release() noexcept;

 private:
  union {
    std::size_t size_;
    LogLink* next_dead_;  // while it waits for being destroyed
  };
  LogLink* before_;
  LogLink* inner_ = nullptr;  // instead of a text
  std::string text_;
  std::uint32_t refs_ = 1;
};

class TaskLog {
 public:
  // The log of a task that begins with what it inherited.
  TaskLog(TaskId owner, Ref<TaskLog> inherited) noexcept
      : owner_(owner), inherited_(inherited.detach()) {
    if (inherited_ != nullptr) inherited_size_ = inherited_->size();
  }
  TaskLog(const TaskLog&) = delete;
  TaskLog& operator=(const TaskLog&) = delete;

  // A log that this task may write to, in the place of one that it may have inherited or that
  // others have inherited from it.
  static TaskLog& writable(Arena& arena, Ref<TaskLog>& log, TaskId owner);

  TaskId owner() const noexcept { return owner_; }
  std::size_t size() const noexcept { return inherited_size_ + LogLink::size_of(last_.get()); }
  // What the owner told, without what it inherited; null when that is nothing.
  const Ref<LogLink>& told() const noexcept { return last_; }
  void set_told(Ref<LogLink> last) noexcept { last_ = std::move(last); }
  std::vector<std::string> entries() const;

  void add_ref() noexcept { ++refs_; }
  void release() noexcept;

 private:
  TaskId owner_;
  TaskLog* inherited_;
  std::size_t inherited_size_ = 0;
  Ref<LogLink> last_;
  std::uint32_t refs_ = 1;
};

}  // namespace tiffany
