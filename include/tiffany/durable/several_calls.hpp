// gather, race and any of the handles of a durable task. Made by a Flow (durable/flow.hpp), and
// seldom named. What comes first is what the log has first, so that the answer is the same when the
// task comes back.
//
// Cancel. Before start: nothing is asked for, and DurableCancelled is thrown. While parked: the
// wait ends with DurableCancelled; what was waited for stays with its handles. After completion:
// the answer is given; the next durable call throws.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/durable/calls.hpp"

namespace tiffany::detail {

// Waits until some of several have come. `slots` are those of handles that the code keeps: a call
// asks for nothing itself, and is over at once when enough of them have arrived.
class SeveralCall : public DurableCall {
 protected:
  SeveralCall(FlowState& flow, std::vector<Slot*> slots, std::source_location site)
      : DurableCall(flow, site), slots_(std::move(slots)) {}
  ~SeveralCall() = default;
  void issue() override;
  bool asks() const noexcept override { return false; }
  virtual bool needs_one() const noexcept { return false; }
  std::vector<Slot*> slots_;
};

// The index of the one that came first, a failure included. Several had come before the call: the
// lowest index. Errc::durable_misuse for none at all.
class [[nodiscard("race does nothing until awaited")]] RaceCall final : public SeveralCall {
 public:
  using value_type = std::size_t;
  static constexpr CallName call_name{"durable_race"};
  RaceCall(FlowState& flow, std::vector<Slot*> slots, std::source_location site)
      : SeveralCall(flow, std::move(slots), site) {}
  std::size_t finish() const;

 private:
  bool ready() const override;
  bool needs_one() const noexcept override { return true; }
};
// The index of the first that came and is no failure. Errc::durable_failed, with the first
// sentence, when all have failed.
class [[nodiscard("any does nothing until awaited")]] AnyCall final : public SeveralCall {
 public:
  using value_type = std::size_t;
  static constexpr CallName call_name{"durable_any"};
  AnyCall(FlowState& flow, std::vector<Slot*> slots, std::source_location site)
      : SeveralCall(flow, std::move(slots), site) {}
  std::size_t finish() const;

 private:
  bool ready() const override;
  bool needs_one() const noexcept override { return true; }
};
// What gather waits for: all results, or the first failure.
bool all_or_one_failed(const std::vector<Slot*>& slots) noexcept;
void throw_first_failure(FlowState& flow, const std::vector<Slot*>& slots);

// All values in the order of the handles, or what the first of them failed with. The others go on.
template <class... Ts>
class [[nodiscard("gather does nothing until awaited")]] GatherCall final : public SeveralCall {
 public:
  using value_type = std::tuple<ValueOf<Ts>...>;
  static constexpr CallName call_name{"durable_gather"};
  GatherCall(FlowState& flow, std::vector<Slot*> slots, std::source_location site)
      : SeveralCall(flow, std::move(slots), site) {}
  value_type finish() const {
    throw_first_failure(flow(), slots_);
    return values(std::index_sequence_for<Ts...>());
  }

 private:
  template <std::size_t... Is>
  value_type values(std::index_sequence<Is...>) const {
    return value_type{value_of<Ts>(slots_[Is])...};
  }
  template <class T>
  ValueOf<T> value_of(Slot* slot) const {
    const std::string& json = slot_value(flow(), slot);
    if constexpr (std::is_void_v<T>) {
      return Unit();
    } else {
      return decode<T>(flow(), json, [slot] { return what_is(slot); });
    }
  }
  bool ready() const override;
};
template <class... Ts>
bool GatherCall<Ts...>::ready() const {
  return all_or_one_failed(slots_);
}

}  // namespace tiffany::detail
