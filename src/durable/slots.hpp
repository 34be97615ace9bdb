// The slots of one durable task, and results that came before the code asked for them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "durable/arrivals.hpp"
#include "durable/rare.hpp"
#include "durable/slot.hpp"

namespace tiffany::detail {

class Slots {
 public:
  // `in_log`: results of the log find it by its name.
  void add(std::unique_ptr<Slot> slot, bool in_log);
  void erase(Slot& slot) noexcept;
  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }
  // Null: no command of the log that the code has made has that name.
  Slot* find(std::string_view id) const noexcept;

  // Newer code may ask later for what the log had earlier.
  void keep_early(Arrival arrival);
  std::optional<Arrival> take_early(const std::string& id);

  // Behind a checkpoint names come again. The code that holds the slots of before is being left.
  void retire_all();
  // Results of the log have all arrived: from here on arrivals know their slot.
  void forget_names() noexcept;
  // Everything that waits for a result is taken back.
  void leave_all() noexcept;

 private:
  std::vector<std::unique_ptr<Slot>> all_;
  RareList<std::unique_ptr<Slot>> retired_;  // from before the last checkpoint
  // While a log is replayed.
  struct FromLog {
    std::unordered_map<std::string_view, Slot*> by_id;  // by Slot::id
    std::unordered_map<std::string, Arrival> early;
  };
  std::unique_ptr<FromLog> from_log_;
};

}  // namespace tiffany::detail
