// How reports speak of a task that waits.
#pragma once

#include <string>

namespace tiffany {

class Scheduler;
class TaskRecord;

// A new line: who waits, for what, where, and where it was spawned. The task is parked.
void append_wait(std::string& out, const Scheduler& scheduler, const TaskRecord& task);

}  // namespace tiffany
