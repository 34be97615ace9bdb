// Finding tasks by their attributes, without reading a log.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "durable/hosted_task.hpp"
#include "tiffany/durable/attributes.hpp"

namespace tiffany {

class Search {
 public:
  explicit Search(HostCore& host) noexcept : host_(host) {}
  // The attributes of a task are those from here on.
  void set(HostedTask& entry, Attributes attributes);
  void set(HostedTask& entry, const std::string& name, Attribute value);
  // The task has left the log.
  void forget(const HostedTask& entry) noexcept;
  // Host::tasks.
  TaskPage find(const TaskFilter& filter, const PageOptions& page);

  // As recorded: an object. Empty: there are none.
  static std::string json(const Attributes& attributes);
  static Attributes read(std::string_view json);
  // Throws Errc::bad_argument for a name, a value or a number of them that cannot be.
  static void require(const Attributes& attributes);

 private:
  using Places = std::set<std::uint64_t>;  // HostedTask::number
  bool fits(const HostedTask& entry, const TaskFilter::Data& filter) const;
  std::uint64_t place_of(const std::string& cursor) const;

  HostCore& host_;
  std::map<std::string, std::map<Attribute, Places>, std::less<>> index_;
};

}  // namespace tiffany
