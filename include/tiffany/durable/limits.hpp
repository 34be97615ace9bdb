// What a durable task, and a call to one, may at most have. Each bound is checked at the call, with
// an Error that says which one it is; nothing that was refused is in the log.
// docs/18-durable-tasks.md has all of them in a table.
#pragma once

#include <cstddef>

#include "tiffany/base/json_reader.hpp"

namespace tiffany {

// Of types of tasks, steps, timers, promises, signals, queries, and of each part of a path, in
// bytes. A name is written into every record of what it names.
inline constexpr std::size_t kLongestName = 200;
// Of the path that flow.enter() makes, with its slashes. So that a record of a step has room for
// everything else.
inline constexpr std::size_t kLongestPath = 1024;
// Of why a task is cancelled or killed or a promise is broken, of the sentence of a failure (which
// is cut), and of the details of a heartbeat. A line of the log has 1 MiB, and a character may need
// six bytes there.
inline constexpr std::size_t kLongestReason = std::size_t{16} << 10;
// How many brackets of a value may be inside one another: of all that a reader of JSON takes, less
// those that the log puts around a value. These are three today (a record, the mailbox in it, and a
// signal there).
inline constexpr int kDeepestValue = JsonReader::kMaxDepth - 8;
// How many search attributes a task has. Each is in the memory of the host, and in every checkpoint
// of the task.
inline constexpr std::size_t kMostAttributes = 32;
// How many updates of a task may be recorded and not answered. Each is in the memory of the host.
inline constexpr std::size_t kMostWaitingUpdates = 1000;
// How many answers to updates a task keeps, so that a repeated update gets the same one. They are
// in every checkpoint of the task. Beyond that the oldest are forgotten, and an update with the id
// of one of these is a new one.
inline constexpr std::size_t kAnswersKept = 100;
// How many ids of tasks that have left the archive are known. Twenty bytes of disk each. Beyond
// that the oldest are forgotten, and a start with one of these is a new task.
inline constexpr std::size_t kMostRetiredIds = 1'000'000;

}  // namespace tiffany
