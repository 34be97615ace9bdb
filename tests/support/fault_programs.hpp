// Programs that between them use everything of core and engine that takes memory, for tests in
// which there is none.
//
// A program may fail with what a lack of memory gives (a std::bad_alloc, or an error that names
// one); errors that it brings about itself it catches. Whatever happens, no task may outlive its
// block.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace tiffany::test {

namespace faults {

// Does not fit into a string without memory.
inline constexpr const char* kText = "a text that is too long to be kept inside of a string";

// Counts those that are inside of something.
class Inside {
 public:
  explicit Inside(int& count) noexcept : count_(count) { ++count_; }
  ~Inside() { --count_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  int& count_;
};

// Runs a block whose tasks count themselves, and sees that none is left, however it ends.
template <class Block>
Task<void> watched(Block block) {
  int inside = 0;
  std::exception_ptr error;
  try {
    co_await block(inside);
  } catch (...) {
    error = std::current_exception();
  }
  if (inside != 0) throw std::logic_error("a task has outlived its block");
  if (error != nullptr) std::rethrow_exception(error);
}

inline Task<std::string> work(int n) {
  if (n > 0) {
    std::string below = co_await work(n - 1);
    co_return below + std::to_string(n);
  }
  co_await sleep(1ms);
  co_return kText;
}
inline Task<std::string> counted(int& inside, int n) {
  const Inside here(inside);
  co_return co_await work(n);
}
// For what never comes, but not for ever.
inline Task<std::string> waits(int& inside) {
  const Inside here(inside);
  Promise<std::string> never;
  static_cast<void>(co_await within(1h, never.future()));
  co_return kText;
}
inline Task<std::string> fails(int& inside, int ms) {
  const Inside here(inside);
  co_await sleep(std::chrono::milliseconds(ms));
  throw std::runtime_error(kText);
}
inline Task<std::size_t> length_of(Future<std::string> text) { co_return (co_await text).size(); }

inline Task<void> calls_and_waits() {
  Promise<std::string> promise;
  auto waiter = spawn(length_of, promise.future());
  auto a = spawn(work, 3).named(kText);
  auto b = spawn(work, 5);
  promise.complete(kText);
  static_cast<void>(co_await gather(a, b));
  const std::vector<Handle<std::string>> both{a, b};
  static_cast<void>(co_await all_settled(both));
  static_cast<void>(co_await race(a, b));
  static_cast<void>(co_await waiter);
}

inline Task<void> contests() {
  co_await watched([](int& inside) -> Task<void> {
    static_cast<void>(co_await race(counted(inside, 1), waits(inside)));
    static_cast<void>(co_await any(fails(inside, 0), counted(inside, 2)));
    static_cast<void>(co_await within(5ms, counted(inside, 2)));
    static_cast<void>(co_await within(1ms, waits(inside)));
    try {
      static_cast<void>(co_await any(fails(inside, 1), fails(inside, 2)));
    } catch (const AllFailed&) {
    }
  });
}

inline Task<void> cancels() {
  co_await watched([](int& inside) -> Task<void> {
    co_await scope([&](Scope& s) -> Task<void> {
      auto parked = s.spawn(waits, std::ref(inside));
      auto named = s.spawn(waits, std::ref(inside)).named(kText);
      auto shielded = s.spawn([&]() -> Task<void> { co_await shield(counted(inside, 1)); });
      co_await yield();
      auto unbegun = s.spawn(waits, std::ref(inside));
      unbegun.cancel(kText);
      named.cancel(kText);
      shielded.cancel(kText);
      static_cast<void>(co_await cancel_and_join(parked, kText));
      static_cast<void>(co_await all_settled(named, unbegun));
    });
  });
}

inline Task<void> fail_fast_scopes() {
  co_await watched([](int& inside) -> Task<void> {
    try {
      co_await scope([&](Scope& s) -> Task<void> {
        s.spawn(waits, std::ref(inside));
        s.spawn(fails, std::ref(inside), 1);
        co_await sleep(1h);
      });
    } catch (const std::runtime_error&) {
    }
    try {
      co_await scope([&](Scope& s) -> Task<void> {
        s.set_timeout(2ms);
        s.spawn(waits, std::ref(inside));
        co_return;
      });
    } catch (const ScopeCancelled&) {
    }
    try {
      co_await scope([&](Scope& s) -> Task<void> {
        s.spawn(waits, std::ref(inside));
        throw std::runtime_error(kText);
        co_return;
      });
    } catch (const std::runtime_error&) {
    }
  });
}

inline Task<void> other_scopes() {
  co_await watched([](int& inside) -> Task<void> {
    try {
      co_await scope(collect_all, [&](Scope& s) -> Task<void> {
        s.spawn(fails, std::ref(inside), 1);
        s.spawn(fails, std::ref(inside), 2);
        s.spawn(counted, std::ref(inside), 2);
        co_return;
      });
    } catch (const TasksFailed&) {
    }
    static_cast<void>(co_await scope(first_success, [&](Scope& s) -> Task<void> {
      s.spawn(waits, std::ref(inside));
      s.spawn(counted, std::ref(inside), 1);
      co_return;
    }));
    co_await scope([&](Scope& s) -> Task<void> {
      s.spawn([&]() -> Task<void> {
        co_await scope([&](Scope& inner) -> Task<void> {
          inner.spawn(waits, std::ref(inside));
          co_return;
        });
      });
      co_await sleep(1ms);
      s.cancel(kText);
    });
  });
}

inline Task<void> limited_scopes() {
  co_await watched([](int& inside) -> Task<void> {
    co_await scope([&](Scope& s) -> Task<void> {
      s.limit_memory(100'000);
      auto parked = s.spawn(waits, std::ref(inside));
      auto first = s.spawn(counted, std::ref(inside), 3);
      auto second = s.spawn.after(first)(counted, std::ref(inside), 1);
      static_cast<void>(co_await second);
      parked.cancel(kText);
    });
  });
}

inline Task<void> promises() {
  Future<std::string> lost;
  {
    const Promise<std::string> dropped;
    lost = dropped.future();
  }
  Promise<std::string> failing;
  auto waiter = spawn(length_of, failing.future());
  auto loser = spawn(length_of, lost);
  failing.fail(std::runtime_error(kText));
  static_cast<void>(co_await all_settled(waiter, loser));
}

inline Task<void> externals() {
  const ExternalPromise<std::string> reply;
  auto waiter = spawn(length_of, reply.future());
  reply.complete(kText);
  static_cast<void>(co_await waiter);
  Future<std::string> lost;
  {
    const ExternalPromise<std::string> dropped;
    lost = dropped.future();
  }
  static_cast<void>(co_await lost.outcome());
}

inline Task<void> published() {
  const ExternalPromise<std::string> promise;
  const Uuid name = promise.uuid();
  Gateway(*Scheduler::current()).complete<std::string>(name, kText);
  static_cast<void>(co_await promise.future());
}

inline Task<void> mail() {
  Mailbox<std::string> box(4);
  {
    const MailSender<std::string> sender = box.sender();
    sender.post(kText);
    sender.post(kText);
  }
  static_cast<void>(co_await box.next());
  static_cast<void>(co_await box.next());
  try {
    static_cast<void>(co_await box.next());
  } catch (const Error&) {
  }
}

inline constexpr ContextKey<std::string> kUser{"user"};
inline constexpr StateKey<std::string> kState{"state"};
inline constexpr StateKey<int> kOther{"other"};
struct Question {
  using result = std::string;
  int number = 0;
};

inline Task<std::string> tells(std::string text) {
  tell(text);
  put(kState, text + ask(kUser));
  put(kOther, 1);
  tell(*get(kState));
  co_await yield();
  co_return co_await perform<Question>(7);
}

inline Task<void> heritage() {
  const auto answers = [](const Question& question) {
    return kText + std::to_string(question.number);
  };
  tell(kText);
  put(kState, kText);
  co_await with(kUser, kText, [&]() -> Task<void> {
    co_await with_handler<Question>(answers, [&]() -> Task<void> {
      auto a = spawn(tells, kText);
      auto b = spawn.with(kUser, kText)(tells, kText);
      auto c = spawn.with(kUser, kText).after(a)(tells, kText);
      auto d = spawn.after(b).with(kUser, kText)(tells, kText);
      static_cast<void>(co_await gather(a, b, c, d));
      put(kOther, 2);
    });
  });
  static_cast<void>(told());
}

inline Task<void> flaky(int& inside, int& starts) {
  static_cast<void>(co_await counted(inside, 1));
  if (++starts < 3) throw std::runtime_error(kText);
}

inline Task<void> supervisors() {
  co_await watched([](int& inside) -> Task<void> {
    int starts = 0;
    const auto family = [&](Supervisor& s) {
      s.transient(kText, flaky, std::ref(inside), std::ref(starts));
      s.transient("another", counted, std::ref(inside), 4);
      s.temporary("temporary", fails, std::ref(inside), 1);
    };
    co_await supervise(Supervision(RestartStrategy::one_for_all).intensity(9, 1s).backoff(1ms, 4ms),
                       family);
    const auto hopeless = [&](Supervisor& s) {
      s.permanent("hopeless", fails, std::ref(inside), 1);
      s.permanent("waits", waits, std::ref(inside));
    };
    try {
      co_await supervise(Supervision(RestartStrategy::one_for_one).intensity(1, 1s), hopeless);
    } catch (const SupervisionFailed&) {
    }
  });
}

inline Task<void> graphs() {
  co_await watched([](int& inside) -> Task<void> {
    TaskGraph graph;
    graph.add("first", counted, std::ref(inside), 1);
    graph.add(kText, fails, std::ref(inside), 1);
    graph.add("skipped", counted, std::ref(inside), 1).after(kText, "first").cost(3);
    graph.add("refused", counted, std::ref(inside), 1).after(kText).if_failed(IfFailed::fail);
    graph.add("last", counted, std::ref(inside), 1).after("refused").if_failed(IfFailed::run);
    try {
      co_await graph.run();
    } catch (const TasksFailed&) {
    }
  });
  auto first = spawn(work, 1);
  auto second = spawn.from(first)(
      [](std::string text) -> Task<std::string> { co_return text + co_await work(1); });
  auto third = spawn.after(second, first)(work, 2);
  static_cast<void>(co_await gather(first, second, third));
}

class Countdown final : public AgentTask<std::string> {
 public:
  explicit Countdown(Handle<std::string> handle) : handle_(std::move(handle)) {}
  Poll<std::string> poll(PollContext& context) override {
    if (left_-- == 0) return Poll<std::string>::ready(kText);
    context.wake_on(handle_);
    context.wake_after(1ms);
    return Poll<std::string>::pending();
  }

 private:
  Handle<std::string> handle_;
  int left_ = 2;
};

inline Task<void> agents() {
  auto target = spawn(work, 2);
  auto agent = spawn_agent(std::make_unique<Countdown>(target));
  auto cancelled = spawn_agent(std::make_unique<Countdown>(target));
  co_await yield();
  cancelled.cancel(kText);
  static_cast<void>(co_await gather(agent, target));
}

// Nobody looks at how it ends: the log hears of it, or standard error when there is no memory.
inline Task<void> unseen() {
  co_await yield();
  throw std::runtime_error(kText);
}
inline Task<void> unseen_failures() {
  spawn(unseen).named(kText);
  spawn(unseen);
  co_await sleep(1ms);
}

}  // namespace faults

struct FaultProgram {
  const char* name;
  Task<void> (*run)();
  bool may_leave_a_promise = false;  // one with a UUID, which waits for whoever knows it
};
inline constexpr std::array kFaultPrograms = {
    FaultProgram{"calls and waits", faults::calls_and_waits},
    FaultProgram{"contests", faults::contests},
    FaultProgram{"cancels", faults::cancels},
    FaultProgram{"fail_fast scopes", faults::fail_fast_scopes},
    FaultProgram{"other scopes", faults::other_scopes},
    FaultProgram{"scopes with a limit of memory", faults::limited_scopes},
    FaultProgram{"promises", faults::promises},
    FaultProgram{"external promises", faults::externals},
    FaultProgram{"promises with a UUID", faults::published, true},
    FaultProgram{"mailboxes", faults::mail},
    FaultProgram{"context and store", faults::heritage},
    FaultProgram{"supervisors", faults::supervisors},
    FaultProgram{"graphs", faults::graphs},
    FaultProgram{"agents", faults::agents},
    FaultProgram{"unseen failures", faults::unseen_failures},
};

// What a program may fail with when memory has run out.
inline bool is_lack_of_memory(const std::exception_ptr& error) {
  const std::string what = what_of(error);
  return what.find("bad_alloc") != std::string::npos ||
         what.find("A task was not spawned") != std::string::npos;
}

}  // namespace tiffany::test
