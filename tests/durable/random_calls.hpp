// What the tasks of random programs (durable/random_program.hpp) do with updates, children that are
// left behind and tasks that are started; and what is around them: a codec of their values, an
// interceptor, a schedule.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tiffany/durable/host.hpp"
#include "tiffany/durable/interceptor.hpp"
#include "tiffany/durable/schedule.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::random_program {

using namespace std::chrono_literals;

inline constexpr UpdateName<int, int> kAdd{"u"};

inline void not_seven(int number) {
  if (number == 7) throw std::invalid_argument("seven");
}

// Adds up what it is told, until that is enough or the time is over.
inline Durable<std::string> adds_updates(Flow& flow, int number) {
  int sum = 0;
  const auto adds = flow.on_update(kAdd, not_seven, [&](int more) {
    if (more == 3) throw std::runtime_error("three");
    return sum += more;
  });
  auto late = co_await flow.timer(std::chrono::seconds(number));
  co_await flow.wait_until([&] { return sum > 10 || late.arrived(); });
  co_return "u" + std::to_string(sum);
}

// The same with a handler that waits: a step, and a timer.
inline Durable<std::string> serves_updates(Flow& flow, int number) {
  int sum = 0;
  const auto adds = flow.on_update(kAdd, not_seven, [&](int more) -> Durable<int> {
    const int doubled = co_await flow.step("double", [more] { return 2 * more; });
    co_await flow.sleep(1s);
    sum += doubled;
    co_return sum;
  });
  auto late = co_await flow.timer(std::chrono::seconds(number));
  co_await flow.serve([&] { return sum > 10 || late.arrived(); });
  co_return "v" + std::to_string(sum);
}

// Lives longer than the call that spawned it, and than its parent perhaps.
inline Durable<int> lingers(Flow& flow, int number) {
  co_await flow.sleep(std::chrono::seconds(number));
  co_return co_await flow.step("linger", [number] { return number; });
}

inline Durable<std::string> leaves_child(Flow& flow, int number) {
  const auto how = static_cast<ParentEnd>(number % 3);
  auto left = co_await flow.spawn<int>(ChildOptions().at_end(how), "lingers", 10 * number);
  auto late = co_await flow.timer(std::chrono::seconds(200));
  std::string seen;
  try {
    auto first = co_await flow.race(left, late);
    seen = "left" + std::to_string(first.index);
  } catch (const DurableCancelled&) {
    throw;
  } catch (const Error& e) {  // it was cancelled
    seen = e.what();
  }
  co_return seen;
}

inline Durable<std::string> starts_task(Flow& flow, int number) {
  const Uuid started = co_await flow.start("lingers", number);
  co_return started.text().substr(0, 4);
}

// ---- Around them ----

// Each value backwards: not JSON any more.
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

// Marks starts, and refuses some signals and updates.
class Doorman final : public Interceptor {
 public:
  void on_start(StartCall& call) override {
    call.attributes.insert_or_assign("door", Attribute(call.parent.nil() ? "front" : "back"));
  }
  void on_signal(const SignalCall& call) override {
    if (call.value == "9") throw std::runtime_error("no nines");
  }
  void on_update(const UpdateCall& call) override {
    if (call.request == "9") throw std::runtime_error("no nines");
  }
};

// A schedule in some of the programs. It ends when it is removed, with what it has started.
class Timetable {
 public:
  Timetable(Host& host, std::uint64_t seed) : schedules_(host), overlap_(seed / 4 % 3) {}
  // The same schedule after a crash, or none when it has been removed before.
  Task<void> create() {
    try {
      co_await schedules_.create(
          "now and then",
          Schedule("lingers", 30).every(20s).overlap(static_cast<Overlap>(overlap_)).catch_up(2));
    } catch (const Error&) {  // somebody has cancelled it meanwhile
    }
  }
  Task<void> remove() {
    try {
      co_await schedules_.remove("now and then");
    } catch (const Error&) {  // it is gone
    }
  }

 private:
  Schedules schedules_;
  std::uint64_t overlap_;
};

inline Task<void> ask_update(Host* host, Uuid task, int number, Uuid id) {
  try {
    co_await host->update(task, kAdd, number, id);
  } catch (const Error&) {  // it has no such update now, or refuses this one, or has ended
  }
}

inline void add_more_types(Registry& all) {
  all.add("lingers", 1, lingers, TypeOptions().at_most(3));
  add_schedules(all);
}

}  // namespace tiffany::random_program
