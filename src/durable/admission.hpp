// Which tasks may run now, by the limits of their types and keys (TypeOptions). A task that may not
// is `queued`: its start is on the disk, its code has not begun.
//
// Order: small priorities first; among tasks of one priority the keys take turns; tasks of one key
// in the order of their starts. Tasks of a type without limits are not looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "durable/hosted_task.hpp"

namespace tiffany {

class Admission {
 public:
  explicit Admission(HostCore& host) noexcept : host_(host) {}
  // A task without a history begins, or is queued.
  void begin(HostedTask& entry, std::string arguments, std::int64_t time);
  // The same of a task with a log. Throws what Runs::begin_again throws.
  void begin_again(HostedTask& entry);
  // A task that was running when the last process ended counts before any other is let in.
  void note_begun(HostedTask& entry);
  // A cancelled task does not wait for its turn: its code ends at its first durable call.
  void let_in(HostedTask& entry);
  // The task is about to be killed or paused: nothing lets it in any more. To be called before the
  // first suspension.
  void withdraw(HostedTask& entry);
  // The code of the task has ended or is stopped, or the task does not wait any more: another one
  // may run.
  void release(HostedTask& entry);
  // The time has come at which a rate lets another one run.
  void look();

 private:
  struct Over;
  // How many may begin in a time: as a bucket that holds so many, and fills evenly. It is full when
  // a host is opened.
  class Pace {
   public:
    // When the next may begin; a time that has passed: now.
    std::int64_t free_at(const RateLimit& rate) const noexcept;
    void take(const RateLimit& rate, std::int64_t now) noexcept;
    // Nothing of the rate is used.
    bool full(std::int64_t now) const noexcept { return full_at_ <= now; }

   private:
    std::int64_t full_at_ = 0;  // when the bucket is full again
  };
  struct OfKey {
    std::size_t running = 0;
    Pace pace;
  };
  // The tasks of one key and one priority that wait.
  struct Waiting {
    struct Place {
      Uuid task;
      std::uint32_t number;  // HostedTask::in_queue; another one: the task has left this place
    };
    std::string key;
    std::deque<Place> places;
    std::size_t left = 0;    // so many of the places are left by their tasks
    std::uint64_t turn = 0;  // its number in Level::turns
    bool has_turn = true;    // false: the key is at its own limit, and is not looked at
  };
  struct Level {  // of one priority
    std::unordered_map<std::string, Waiting> waiting;
    std::map<std::uint64_t, Waiting*> turns;  // the first has its turn next
  };
  struct OfType {
    const DurableType* type = nullptr;
    std::size_t running = 0;
    Pace pace;
    std::unordered_map<std::string, OfKey> keys;
    std::size_t keys_kept = 0;  // when they were last looked through
    std::map<std::uint8_t, Level> levels;
    std::set<std::pair<std::int64_t, std::string>>
        resting;  // keys whose rate is used up until then
    std::uint64_t last_turn = 0;
    bool filling = false;
  };
  OfType& type_of(const HostedTask& entry);
  static const std::string& key_of(const HostedTask& entry) noexcept;
  // By the limits, whoever waits already.
  bool type_may_run(OfType& type);
  bool key_may_run(OfType& type, const std::string& key);
  void count(HostedTask& entry, bool paced);
  void queue(HostedTask& entry);
  void leave_queue(HostedTask& entry);
  static void look_at_key(OfType& type, const std::string& key);
  void forget_keys(OfType& type);
  void fill(OfType& type);
  HostedTask* next_of(OfType& type);
  HostedTask* take_first(Level& level, OfType& type);
  void run(HostedTask& entry);
  Task<void> run_settled(HostedTask* entry);

  HostCore& host_;
  std::map<std::string, OfType> types_;
  std::uint32_t last_place_ = 0;
};

}  // namespace tiffany
