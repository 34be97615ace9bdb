// Search attributes: small values by which operators find tasks, and how a page of tasks is asked
// for.
//
//   co_await host.start(StartOptions().attribute("customer", "Ada"), order, x);
//   flow.set_attribute("stage", "shipping");                               // in the task
//
//   TaskPage page = host.tasks(TaskFilter().attribute("customer", "Ada"), PageOptions(100));
//   page = host.tasks(filter, PageOptions(100, page.next));                // until next is empty
//
// Answered from the memory of the host: no log is read. Not for secrets, which belong into values;
// not for anything that the code of the task depends on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tiffany/durable/host_options.hpp"

namespace tiffany {

// A truth value, a whole number, a number or a text. A literal is a text.
class Attribute {
 public:
  Attribute(bool value) : value_(value) {}                            // NOLINT
  Attribute(int value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT
  Attribute(std::int64_t value) : value_(value) {}                    // NOLINT
  Attribute(double value) : value_(value) {}                          // NOLINT
  Attribute(std::string value) : value_(std::move(value)) {}          // NOLINT
  Attribute(const char* value) : value_(std::string(value)) {}        // NOLINT
  friend bool operator==(const Attribute&, const Attribute&) = default;
  friend bool operator<(const Attribute& a, const Attribute& b) { return a.value_ < b.value_; }

  std::string json() const;
  // Throws Errc::bad_json for an array, an object or null.
  static Attribute from_json(std::string_view json);
  // Throws Errc::bad_argument for a text that is too long or no UTF-8, and for a number that JSON
  // does not have.
  void require_good() const;

 private:
  std::variant<bool, std::int64_t, double, std::string> value_;
};
using Attributes = std::map<std::string, Attribute, std::less<>>;

// Which tasks are meant: those to which everything applies that was said.
class TaskFilter {
 public:
  TaskFilter() = default;
  TaskFilter(const TaskFilter&) = default;
  TaskFilter(TaskFilter&&) = default;
  TaskFilter& operator=(const TaskFilter&) = default;
  // `filter = std::move(filter).type("order")` assigns to itself, and loses nothing.
  TaskFilter& operator=(TaskFilter&& other) noexcept {
    if (this != &other) data_ = std::move(other.data_);
    return *this;
  }
  TaskFilter&& type(std::string name) && {
    data_.type = std::move(name);
    return std::move(*this);
  }
  TaskFilter&& status(DurableStatus status) && {
    data_.status = status;
    return std::move(*this);
  }
  TaskFilter&& key(std::string key) && {
    data_.key = std::move(key);
    return std::move(*this);
  }
  // Children of that task.
  TaskFilter&& parent(const Uuid& task) && {
    data_.parent = task;
    return std::move(*this);
  }
  TaskFilter&& attribute(std::string name, Attribute value) && {
    data_.attributes.insert_or_assign(std::move(name), std::move(value));
    return std::move(*this);
  }

  struct Data {
    std::optional<std::string> type{};
    std::optional<DurableStatus> status{};
    std::optional<std::string> key{};
    std::optional<Uuid> parent{};
    Attributes attributes{};
  };
  const Data& data() const noexcept { return data_; }

 private:
  Data data_;
};

// `cursor` is TaskPage::next of the page before, in the same order; empty: the first page. 1 to
// 10,000 tasks.
class PageOptions {
 public:
  explicit PageOptions(std::size_t most = 100, std::string cursor = {})
      : size(most), after(std::move(cursor)) {}
  PageOptions&& newest_first(bool yes = true) && {
    newest = yes;
    return std::move(*this);
  }
  std::size_t size;
  std::string after;
  bool newest = false;
};

struct TaskPage {
  // In the order in which they came to be, or the reverse of it. `detail` of a task that had ended
  // when the log was opened is empty: Host::info reads it.
  std::vector<DurableInfo> tasks;
  // Of the next page; empty: there is none. Stays valid when tasks come and go, also after a
  // restart as long as the last task of this page is in the log.
  std::string next;
};

}  // namespace tiffany
