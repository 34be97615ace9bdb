// More tasks of a crash campaign: the four examples trip (a saga), cart (updates, a query, a timer,
// checkpoints), fan_out (children of a type with limits) and nightly (a schedule), and children of
// each kind. As in durable/crash/tasks.hpp, what each returns depends on its number alone.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "durable/crash/tasks.hpp"
#include "tiffany/durable/map_children.hpp"
#include "tiffany/durable/saga.hpp"
#include "tiffany/durable/schedule.hpp"

namespace tiffany::crash {

// ---- trip: three bookings, of which the last cannot be; those before it are undone ----

inline void undo_effect(Attempt& attempt, std::string who, int index) {
  take_effect('I', Effect(std::move(who), index, index), attempt.key());
}
inline Durable<Value> book_all(Flow& flow, Saga& saga, std::string who) {
  const auto scope = co_await flow.scope(1h);
  for (int index = 1; index <= 3; ++index) {
    saga.undo("undo-" + std::to_string(index), patient(), undo_effect, who, 7 - index);
    const auto book = [&](Attempt& attempt) {
      if (index == 3) throw NotRetryable("there are no cars in Venice");
      return take_effect('I', Effect(who, index, index), attempt.key());
    };
    co_await flow.step("book", patient(), book);
    co_await flow.sleep(1ms);
  }
  co_return 0;
}
inline Durable<Value> trip(Flow& flow, int number) {
  const std::string who = std::to_string(number);
  Value end = 0;
  try {
    end = co_await run_saga(flow, book_all, who);
  } catch (const StepFailed&) {
    end = number;
  }
  co_return end;
}

// ---- cart: filled by updates, of which each has an effect; a checkpoint after every second ----

constexpr UpdateName<int, Value> kPutIn{"put in"};
constexpr QueryName<Value> kInside{"inside"};

struct Inside {
  int items = 0;
  Value sum = 0;
};
TIFFANY_JSON(Inside, items, sum);

inline Durable<Value> cart(Flow& flow, int number) {
  Inside inside = flow.state(Inside{});
  int changes = 0;
  const auto looks = flow.on_query(kInside, [&] { return inside.sum; });
  const auto puts = flow.on_update(kPutIn, [&](int k) -> Durable<Value> {
    const Value made = co_await idempotent(flow, Effect(std::to_string(number), k + 1, k));
    flow.set_attribute("items", inside.items + 1);
    ++changes;
    ++inside.items;
    inside.sum += made;
    co_return inside.sum;
  });
  {
    auto late = co_await flow.timer(1h);
    co_await flow.serve([&] { return inside.items == kSignals || changes == 2; });
  }
  if (inside.items == kSignals) co_return inside.sum;
  co_await flow.checkpoint(inside);
  co_return -1;
}

// ---- fan_out: children of a type of which few may run at a time ----

inline int pages_at_once = 0;  // in this process
constexpr int kPagesAtOnce = 3;

struct Visit {
  Visit() {
    if (++pages_at_once > kPagesAtOnce) line->tell("W too many pages at a time");
  }
  ~Visit() { --pages_at_once; }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
};
inline Durable<Value> page(Flow& flow, std::string who) {
  const Effect effect{who, 1, 5};
  co_return co_await flow.step("measure", patient(), [&](Attempt& attempt) -> Task<Value> {
    const Visit visit;
    co_await sleep(1ms);
    co_return take_effect('I', effect, attempt.key());
  });
}
inline Durable<Value> fan_out(Flow& flow, int number) {
  std::vector<std::string> pages;
  for (int i = 0; i < 8; ++i) pages.push_back(std::to_string(number) + "/" + std::to_string(i));
  Value sum = 0;
  for (const Value each : co_await map_children<Value>(flow, 4, "page", pages)) sum += each;
  co_return sum;
}

// ---- Children of each kind, which their parent leaves ----

inline Durable<Value> brood(Flow& flow, int number) {
  const std::string who = std::to_string(number);
  auto cancelled = co_await flow.spawn<void>("endless", who + "/0");
  auto asked = co_await flow.spawn<void>(ChildOptions().at_end(ParentEnd::request_cancel),
                                         "endless", who + "/1");
  auto left =
      co_await flow.spawn<Value>(ChildOptions().at_end(ParentEnd::abandon), "child", who + "/2", 3);
  co_await flow.start("child", who + "/3", Value{4});
  co_return co_await idempotent(flow, Effect(who, 1, number));
}

// ---- nightly: what a schedule starts ----

inline Durable<void> report(Flow& flow) {
  const std::string id = flow.id().text();
  co_await flow.step("send", patient(), [&] { line->ask("N " + id); });
}

// Values in the log are backwards, in every second round.
class Backwards final : public wal::PayloadCodec {
 public:
  Encoded encode(std::string_view json) const override {
    return {"back", std::string(json.rbegin(), json.rend())};
  }
  std::optional<std::string> decode(std::string_view key, std::string_view bytes) const override {
    if (key != "back") return std::nullopt;
    return std::string(bytes.rbegin(), bytes.rend());
  }
};

inline void add_example_types(Registry& types) {
  types.add("trip", 1, trip);
  types.add("cart", 1, cart);
  types.add("page", 1, page, TypeOptions().at_most(kPagesAtOnce));
  types.add("fan_out", 1, fan_out);
  types.add("brood", 1, brood);
  types.add("report", 1, report);
  add_schedules(types);
}

}  // namespace tiffany::crash
