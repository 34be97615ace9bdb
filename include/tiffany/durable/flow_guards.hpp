// What a Flow gives that lasts as long as an object: an answer to queries or updates, a part
// of a path, a shield. Made by a Flow (durable/flow.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tiffany {

class FlowState;
namespace detail {
class Queries;
class UpdateHandlers;
struct Slot;
}  // namespace detail

// Of Flow::on_query.
class FlowQuery {
 public:
  FlowQuery(std::shared_ptr<detail::Queries> all, std::uint64_t number) noexcept;
  FlowQuery(FlowQuery&& other) noexcept = default;
  FlowQuery& operator=(FlowQuery&& other) noexcept;
  ~FlowQuery();

 private:
  std::shared_ptr<detail::Queries> all_;
  std::uint64_t number_;
};

// Of Flow::on_update.
class FlowUpdate {
 public:
  FlowUpdate(std::shared_ptr<detail::UpdateHandlers> all, std::uint64_t number) noexcept;
  FlowUpdate(FlowUpdate&& other) noexcept = default;
  FlowUpdate& operator=(FlowUpdate&& other) noexcept;
  ~FlowUpdate();

 private:
  std::shared_ptr<detail::UpdateHandlers> all_;
  std::uint64_t number_;
};

// Of Flow::enter.
class FlowPath {
 public:
  FlowPath(FlowState& state, std::string_view name);
  ~FlowPath();
  FlowPath(const FlowPath&) = delete;
  FlowPath& operator=(const FlowPath&) = delete;

 private:
  FlowState& state_;
  std::size_t size_;
};

// Of Flow::scope. Keep it in a variable; the scope ends with it.
class FlowScope {
 public:
  FlowScope(FlowState& state, detail::Slot* timer);
  FlowScope(FlowScope&& other) noexcept;
  FlowScope& operator=(FlowScope&&) = delete;
  ~FlowScope();
  // Its time is over, and the code was shown that.
  bool timed_out() const noexcept;

 private:
  FlowState* state_;
  detail::Slot* timer_;
};

// Of Flow::shield.
class FlowShield {
 public:
  explicit FlowShield(FlowState& state) noexcept;
  ~FlowShield();
  FlowShield(const FlowShield&) = delete;
  FlowShield& operator=(const FlowShield&) = delete;

 private:
  FlowState& state_;
};

}  // namespace tiffany
