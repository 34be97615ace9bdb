// How tasks ended, as memory, the log or the archive knows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "durable/hosted_task.hpp"

namespace tiffany {

class Results {
 public:
  explicit Results(HostCore& host) noexcept : host_(host) {}
  // Waits until the task has ended; throws what it failed with.
  Task<std::string> wait(Uuid id);
  std::optional<DurableInfo> info(Uuid task);
  std::vector<DurableInfo> list();
  // A result that cannot be read is not given for another one: the task is then quarantined.
  // `one_of_many`: files are kept open for the next.
  // Throws Errc::value_not_decoded.
  DurableInfo info_of(const HostedTask& entry, bool one_of_many = false);

  // Of a task that has failed.
  detail::Failure failure_of(const HostedTask& task);
  // Without what would have to be read.
  static DurableInfo short_info(const HostedTask& entry);

  bool archived(const Uuid& id) const;
  // Null when it is not there.
  std::unique_ptr<HostedTask> from_archive(const Uuid& id);

  struct End {
    DurableStatus status = DurableStatus::completed;
    std::string detail;  // the result, or why there is none
    std::string trace;
    detail::Failure failure;
  };
  // Of a task that is `unread`. Errc::log_damaged when the record, or a value that it names, cannot
  // be read.
  End end_of(const HostedTask& entry, bool one_of_many = false);

 private:
  std::string line_of_end(const HostedTask& entry, bool one_of_many);
  // For people: without a result that cannot be decoded.
  DurableInfo shown_info(const HostedTask& entry, bool one_of_many = false);
  std::string value_of(const HostedTask& task);

  HostCore& host_;
};

}  // namespace tiffany
