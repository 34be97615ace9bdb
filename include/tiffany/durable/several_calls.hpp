// Waiting for several handles of a durable task at once: gather, race and any. Made by a Flow
// (durable/flow.hpp), and seldom named.
//
// The first is that which the log has first, so the answer is the same when the task comes back. So
// no record is made, and a crash changes nothing.
//
// Cancel. Before start: nothing is asked for, and DurableCancelled is thrown. While parked: the
// wait ends with DurableCancelled; what was waited for stays with its handles. After completion:
// the answer is given; the next durable call throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tiffany/durable/calls.hpp"
#include "tiffany/structure/results.hpp"

namespace tiffany::detail {

template <class... Ts>
std::vector<Slot*> slots_of(const DurableHandle<Ts>&... handles) {
  return {handles.slot().get()...};
}
template <class T>
std::vector<Slot*> slots_of(const std::vector<DurableHandle<T>>& handles) {
  std::vector<Slot*> all;
  for (const auto& handle : handles) all.push_back(handle.slot().get());
  return all;
}

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
  std::span<Slot* const> needed() const noexcept override {
    return needs_one() ? std::span<Slot* const>() : std::span<Slot* const>(slots_);
  }
  template <class T>
  ValueOf<T> value_of(const Slot* slot) const {
    const std::string& json = slot_value(flow(), slot);
    if constexpr (std::is_void_v<T>) {
      return Unit();
    } else {
      return decode<T>(flow(), json, [slot] { return what_is(slot); });
    }
  }
  std::vector<Slot*> slots_;
};

enum class First : std::uint8_t {
  settled,  // race: a failure decides as a value does
  success,  // any: a failure does not count
};

// Which one was the first. Several had come before the call: the lowest index. Errc::durable_misuse
// for none at all; of any, Errc::durable_failed with the first sentence when all have failed.
class FirstCall : public SeveralCall {
 protected:
  FirstCall(FlowState& flow, First what, std::vector<Slot*> slots, std::source_location site)
      : SeveralCall(flow, std::move(slots), site), what_(what) {}
  ~FirstCall() = default;
  bool ready() const override;
  bool needs_one() const noexcept override { return true; }
  std::size_t decided() const;

 private:
  First what_;
};

// Over handles that are named one by one. The value is that of the one that was decided, or what
// that one failed with is thrown.
template <class... Ts>
class [[nodiscard("race and any do nothing until awaited")]] FirstOf final : public FirstCall {
 public:
  using Value = typename OneOf<Ts...>::type;
  using value_type = Won<Value>;
  static constexpr CallName call_name{"durable_first"};
  FirstOf(FlowState& flow, First what, std::vector<Slot*> slots, std::source_location site)
      : FirstCall(flow, what, std::move(slots), site) {}
  value_type finish() const { return won(std::index_sequence_for<Ts...>()); }

 private:
  template <std::size_t... Is>
  value_type won(std::index_sequence<Is...>) const {
    const std::size_t which = decided();
    std::optional<value_type> result;
    static_cast<void>(((Is == which && (take<Is, Ts>(result), true)) || ...));
    return std::move(*result);
  }
  template <std::size_t I, class T>
  void take(std::optional<value_type>& result) const {
    if constexpr (std::is_same_v<ValueOf<Value>, ValueOf<T>>) {
      result.emplace(I, this->template value_of<T>(slots_[I]));
    } else {
      result.emplace(I, Value(std::in_place_index<I>, this->template value_of<T>(slots_[I])));
    }
  }
};

// Over a vector of handles, which stay where they are.
template <class T>
class [[nodiscard("race and any do nothing until awaited")]] FirstOfMany final : public FirstCall {
 public:
  using value_type = Won<T>;
  static constexpr CallName call_name{"durable_first"};
  FirstOfMany(FlowState& flow, First what, std::vector<Slot*> slots, std::source_location site)
      : FirstCall(flow, what, std::move(slots), site) {}
  value_type finish() const {
    const std::size_t which = decided();
    return value_type(which, this->template value_of<T>(slots_[which]));
  }
};

// Waits for all results, or the first failure, and throws that.
class GatherBase : public SeveralCall {
 protected:
  using SeveralCall::SeveralCall;
  ~GatherBase() = default;
  bool ready() const override;
  void throw_first_failure() const;
};

// All values in the order of the handles, or what the first of them failed with. The others go on.
template <class... Ts>
class [[nodiscard("gather does nothing until awaited")]] GatherCall final : public GatherBase {
 public:
  using value_type = Gathered<Ts...>;
  static constexpr CallName call_name{"durable_gather"};
  GatherCall(FlowState& flow, std::vector<Slot*> slots, std::source_location site)
      : GatherBase(flow, std::move(slots), site) {}
  value_type finish() const {
    this->throw_first_failure();
    return values(std::index_sequence_for<Ts...>());
  }

 private:
  template <std::size_t... Is>
  value_type values(std::index_sequence<Is...>) const {
    return value_type{this->template value_of<Ts>(slots_[Is])...};
  }
};

template <class T>
class [[nodiscard("gather does nothing until awaited")]] GatherMany final : public GatherBase {
 public:
  using value_type = std::vector<ValueOf<T>>;
  static constexpr CallName call_name{"durable_gather"};
  GatherMany(FlowState& flow, std::vector<Slot*> slots, std::source_location site)
      : GatherBase(flow, std::move(slots), site) {}
  value_type finish() const {
    this->throw_first_failure();
    value_type all;
    all.reserve(slots_.size());
    for (const Slot* slot : slots_) all.push_back(this->template value_of<T>(slot));
    return all;
  }
};

}  // namespace tiffany::detail
