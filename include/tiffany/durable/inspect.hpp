// Looking at a log with the code that belongs to it, without changing anything: no lock is taken,
// nothing is written, and no step is run.
//
//   inspect        runs the code of a task along its log to where the log ends, and says what it
//                  would do next
//   replay         the same, of a task that has ended too; says whether the code does what the log
//                  says, and gives what happened as events, each with the place in the log
//   check_upgrade  inspects every task that has not ended: to be run with a new program before it
//                  takes over
//
// Another process may write and compact the log meanwhile: what cannot be read where it was found
// is read again from the beginning, and is damaged when it is the same the next time.
// Errc::log_busy when the log does not hold still.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tiffany/durable/host.hpp"

namespace tiffany {

struct Inspection {
  DurableInfo task;
  bool agrees = false;              // the code does what the log says, as far as the log goes
  bool same_result = false;         // of a task that has ended: the code ends with what is recorded
  std::string difference;           // if it does not agree
  std::size_t commands = 0;         // that were compared
  std::vector<std::string> next;    // what it would do, or waits for
  std::vector<std::string> events;  // what happened, in the order of the log
  std::uint64_t trace = 0;          // over all of that; equal logs and equal code have equal ones
  std::string text() const;
};

struct UpgradeCheck {
  std::vector<DurableInfo> all;   // every task of the log
  std::vector<Inspection> tasks;  // those that have not ended
  std::size_t agree = 0;
  std::size_t paused = 0;  // their type or version is not in this program
  std::size_t diverge = 0;
  std::string text() const;
};

Task<Inspection> inspect(const Registry& types, wal::LogOptions log, Uuid task);
Task<Inspection> replay(const Registry& types, wal::LogOptions log, Uuid task);
Task<UpgradeCheck> check_upgrade(const Registry& types, wal::LogOptions log);

}  // namespace tiffany
