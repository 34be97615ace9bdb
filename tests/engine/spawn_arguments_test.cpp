// T1: a spawned task keeps its callable and its arguments as long as its code runs, and no longer.
#include "tiffany/engine/spawn.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace tiffany {
namespace spawn_arguments_test {

using namespace test;

// Too long for the buffer inside a std::string, so that reading a dead one is seen.
constexpr const char* kLong = "a text that is long enough to live on the heap of its own accord";

// Writes over the native stack that the spawn and the call have used.
void scribble() {
  volatile char stack[4096];
  for (volatile char& byte : stack) byte = 'x';
}

// The first suspension makes sure that nothing of the call is left but what the task keeps.
Task<std::string> later(const std::string& text) {
  co_await sleep(1ms);
  scribble();
  co_return text;
}
Task<std::string> later_view(std::string_view text) {
  co_await sleep(1ms);
  scribble();
  co_return std::string(text);
}

// Counts how many of it are alive, copied and moved.
class Counts {
 public:
  int alive = 0;
  int copied = 0;
  int moved = 0;
  int made = 0;
  int destroyed = 0;
};
class Counted {
 public:
  explicit Counted(Counts& counts) : counts_(&counts) { begin(); }
  Counted(const Counted& other) : counts_(other.counts_) {
    begin();
    ++counts_->copied;
  }
  Counted(Counted&& other) noexcept : counts_(other.counts_) {
    begin();
    ++counts_->moved;
  }
  Counted& operator=(const Counted&) = delete;
  ~Counted() {
    --counts_->alive;
    ++counts_->destroyed;
  }

 private:
  void begin() {
    ++counts_->made;
    ++counts_->alive;
  }
  Counts* counts_;
};

void expect_all_gone(const Counts& counts) {
  EXPECT_EQ(counts.alive, 0);
  EXPECT_EQ(counts.made, counts.destroyed) << "each is destroyed exactly once";
  EXPECT_GT(counts.made, 0);
}

// ---- References and views ----

TEST(SpawnArguments, T1_AReferenceToAStringMayBeGivenALiteral) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(later, "a literal that is long enough to live on the heap");
    const std::string text = co_await handle;
    EXPECT_EQ(text, "a literal that is long enough to live on the heap");
  };
  run_program(program);
}

TEST(SpawnArguments, T1_AReferenceToAStringMayBeGivenATemporary) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(later, std::string(kLong) + "!");
    const std::string text = co_await handle;
    EXPECT_EQ(text, std::string(kLong) + "!");
  };
  run_program(program);
}

TEST(SpawnArguments, T1_AVariableIsCopiedSoItsLaterFateDoesNotMatter) {
  const auto program = []() -> Task<void> {
    std::string text = kLong;
    auto handle = spawn(later, text);
    text = "changed";
    const std::string kept = co_await handle;
    EXPECT_EQ(kept, kLong);
    EXPECT_EQ(text, "changed");
  };
  run_program(program);
}

TEST(SpawnArguments, T1_AViewParameterLooksAtTheKeptString) {
  const auto program = []() -> Task<void> {
    auto handle = spawn(later_view, std::string(kLong));
    const std::string text = co_await handle;
    EXPECT_EQ(text, kLong);
    auto literal = spawn(later_view, "a literal lives for ever");
    const std::string other = co_await literal;
    EXPECT_EQ(other, "a literal lives for ever");
  };
  run_program(program);
}

TEST(SpawnArguments, T1_ABorrowedViewIsPassedOn) {
  const auto program = []() -> Task<void> {
    const std::string owner = kLong;
    auto by_value = spawn(later_view, borrowed(std::string_view(owner)));
    const auto by_reference = [](const std::string_view& view) -> Task<std::string> {
      co_await sleep(1ms);
      co_return std::string(view);
    };
    auto referred = spawn(by_reference, borrowed(std::string_view(owner)));
    auto both = co_await gather(by_value, referred);
    EXPECT_EQ(both.get<0>(), kLong);
    EXPECT_EQ(both.get<1>(), kLong);
  };
  run_program(program);
}

TEST(SpawnArguments, T1_AConversionIsMadeOnceAndKept) {
  const auto program = []() -> Task<void> {
    const auto wide = [](const std::int64_t& number) -> Task<std::int64_t> {
      co_await sleep(1ms);
      scribble();
      co_return number;
    };
    auto handle = spawn(wide, 7);
    const std::int64_t number = co_await handle;
    EXPECT_EQ(number, 7);
    const auto shared = [](const std::shared_ptr<const int>& pointer) -> Task<int> {
      co_await sleep(1ms);
      scribble();
      co_return *pointer;
    };
    auto other = spawn(shared, std::make_unique<int>(8));
    const int value = co_await other;
    EXPECT_EQ(value, 8);
  };
  run_program(program);
}

TEST(SpawnArguments, T1_AnRvalueReferenceRefersToTheKeptArgument) {
  const auto program = []() -> Task<void> {
    const auto takes = [](std::string&& text) -> Task<std::string> {
      co_await sleep(1ms);
      scribble();
      co_return std::move(text);
    };
    auto from_literal = spawn(takes, "a literal that is long enough to live on the heap");
    auto from_string = spawn(takes, std::string(kLong));
    auto both = co_await gather(from_literal, from_string);
    EXPECT_EQ(both.get<0>(), "a literal that is long enough to live on the heap");
    EXPECT_EQ(both.get<1>(), kLong);
  };
  run_program(program);
}

// The next ones run in processes of their own: when they go wrong they read dead memory.

TEST(SpawnArguments, T1_AnArgumentOfANoexceptLambdaIsKeptConvertedToo) {
  const auto body = [] {
    const auto program = []() -> Task<void> {
      const auto task = [](const std::string& text) noexcept -> Task<std::string> {
        co_await sleep(1ms);
        scribble();
        co_return text;
      };
      auto handle = spawn(task, "a literal that is long enough to live on the heap");
      const std::string text = co_await handle;
      EXPECT_EQ(text, "a literal that is long enough to live on the heap");
    };
    run_program(program);
  };
  EXPECT_SURVIVES(body);
}

TEST(SpawnArguments, T1_AnArgumentOfACallableByReferenceIsKeptConvertedToo) {
  const auto body = [] {
    const auto program = []() -> Task<void> {
      const auto task = [](const std::string& text) -> Task<std::string> {
        co_await sleep(1ms);
        scribble();
        co_return text;
      };
      auto handle = spawn(std::ref(task), "a literal that is long enough to live on the heap");
      const std::string text = co_await handle;
      EXPECT_EQ(text, "a literal that is long enough to live on the heap");
    };
    run_program(program);
  };
  EXPECT_SURVIVES(body);
}

TEST(SpawnArguments, T1_AnArgumentOfAMutableLambdaIsKeptConvertedToo) {
  const auto program = []() -> Task<void> {
    auto task = [calls = 0](const std::string& text) mutable -> Task<std::string> {
      ++calls;
      co_await sleep(1ms);
      scribble();
      co_return text + std::to_string(calls);
    };
    auto handle = spawn(task, "a literal that is long enough to live on the heap");
    const std::string text = co_await handle;
    EXPECT_EQ(text, "a literal that is long enough to live on the heap1");
  };
  run_program(program);
}

class Greeter {
 public:
  explicit Greeter(std::string greeting) : greeting_(std::move(greeting)) {}
  Task<std::string> greet(const std::string& name) {
    co_await sleep(1ms);
    scribble();
    co_return greeting_ + " " + name;
  }
  Task<std::string> greet_const(const std::string& name) const noexcept {
    co_await sleep(1ms);
    scribble();
    co_return greeting_ + " " + name;
  }
  Task<std::string> text() const {
    co_await sleep(1ms);
    scribble();
    co_return greeting_;
  }

 private:
  std::string greeting_;
};

TEST(SpawnArguments, T1_AMemberFunctionKeepsItsObject) {
  const auto program = []() -> Task<void> {
    auto temporary = spawn(&Greeter::text, Greeter(kLong));
    Greeter greeter("Hello");
    auto copied = spawn(&Greeter::text, greeter);
    auto pointed = spawn(&Greeter::text, &greeter);
    auto referred = spawn(&Greeter::greet, std::ref(greeter), std::string("you"));
    auto shared = spawn(&Greeter::greet, std::make_shared<Greeter>(kLong), std::string("all"));
    const std::string a = co_await temporary;
    EXPECT_EQ(a, kLong);
    const std::string b = co_await copied;
    EXPECT_EQ(b, "Hello");
    const std::string c = co_await pointed;
    EXPECT_EQ(c, "Hello");
    const std::string d = co_await referred;
    EXPECT_EQ(d, "Hello you");
    const std::string e = co_await shared;
    EXPECT_EQ(e, std::string(kLong) + " all");
  };
  run_program(program);
}

TEST(SpawnArguments, T1_AnArgumentOfAMemberFunctionIsKeptConvertedToo) {
  const auto body = [] {
    const auto program = []() -> Task<void> {
      auto handle = spawn(&Greeter::greet, Greeter("Hello"), "literal that is long enough to move");
      const std::string text = co_await handle;
      EXPECT_EQ(text, "Hello literal that is long enough to move");
    };
    run_program(program);
  };
  EXPECT_SURVIVES(body);
}

TEST(SpawnArguments, T1_AnArgumentOfANoexceptMemberFunctionIsKeptConvertedToo) {
  const auto body = [] {
    const auto program = []() -> Task<void> {
      auto handle =
          spawn(&Greeter::greet_const, Greeter("Hello"), "literal that is long enough to move");
      const std::string text = co_await handle;
      EXPECT_EQ(text, "Hello literal that is long enough to move");
    };
    run_program(program);
  };
  EXPECT_SURVIVES(body);
}

// A callable with several signatures: its parameter types cannot be asked for.
class Overloaded {
 public:
  Task<std::string> operator()(const std::string& text) const {
    co_await sleep(1ms);
    scribble();
    co_return text;
  }
  Task<std::string> operator()(int number) const {
    co_await sleep(1ms);
    co_return std::to_string(number);
  }
};

TEST(SpawnArguments, T1_AnOverloadedCallableGetsWhatFits) {
  const auto program = []() -> Task<void> {
    auto number = spawn(Overloaded(), 7);
    auto text = spawn(Overloaded(), std::string(kLong));
    auto both = co_await gather(number, text);
    EXPECT_EQ(both.get<0>(), "7");
    EXPECT_EQ(both.get<1>(), kLong);
  };
  run_program(program);
}

TEST(SpawnArguments, T1_AFunctionObjectOfTheStandardLibraryIsKept) {
  const auto program = []() -> Task<void> {
    const std::string prefix = kLong;
    std::function<Task<std::string>(const std::string&)> function =
        [prefix](const std::string& text) -> Task<std::string> {
      co_await sleep(1ms);
      scribble();
      co_return prefix + text;
    };
    auto handle = spawn(function, "a literal that is long enough to live on the heap");
    function = nullptr;
    const std::string text = co_await handle;
    EXPECT_EQ(text, std::string(kLong) + "a literal that is long enough to live on the heap");
  };
  run_program(program);
}

TEST(SpawnArguments, T1_GenericLambdasGetTheKeptArguments) {
  const auto program = []() -> Task<void> {
    const auto length = [](const auto& text) -> Task<std::size_t> {
      co_await sleep(1ms);
      scribble();
      co_return text.size();
    };
    auto handle = spawn(length, std::string(kLong));
    const std::size_t size = co_await handle;
    EXPECT_EQ(size, std::string(kLong).size());
  };
  run_program(program);
}

// ---- Bases ----

class Shape {
 public:
  virtual ~Shape() = default;
  virtual std::string name() const { return "shape"; }
};
class Circle final : public Shape {
 public:
  std::string name() const override { return "circle of " + what_; }

 private:
  std::string what_ = kLong;
};
class Abstract {
 public:
  virtual ~Abstract() = default;
  virtual int answer() const = 0;
};
class Concrete final : public Abstract {
 public:
  int answer() const override { return 42; }
};

Task<std::string> name_of_shape(const Shape& shape) {
  co_await sleep(1ms);
  scribble();
  co_return shape.name();
}

TEST(SpawnArguments, T1_AReferenceToABaseDoesNotSliceTheArgument) {
  const auto program = []() -> Task<void> {
    auto temporary = spawn(name_of_shape, Circle());
    const Circle circle;
    auto copied = spawn(name_of_shape, circle);
    const auto answers = [](const Abstract& abstract) -> Task<int> {
      co_await sleep(1ms);
      co_return abstract.answer();
    };
    auto concrete = spawn(answers, Concrete());
    auto all = co_await gather(temporary, copied, concrete);
    EXPECT_EQ(all.get<0>(), "circle of " + std::string(kLong));
    EXPECT_EQ(all.get<1>(), "circle of " + std::string(kLong));
    EXPECT_EQ(all.get<2>(), 42);
  };
  run_program(program);
}

TEST(SpawnArguments, T1_AReferenceWrapperOfADerivedObjectDoesNotSliceItEither) {
  const auto program = []() -> Task<void> {
    const Circle circle;
    auto handle = spawn(name_of_shape, std::ref(circle));
    const std::string name = co_await handle;
    EXPECT_EQ(name, "circle of " + std::string(kLong));
  };
  run_program(program);
}

TEST(SpawnArguments, T1_APointerToADerivedObjectBecomesOneToItsBase) {
  const auto program = []() -> Task<void> {
    const auto task = [](const std::unique_ptr<Shape>& shape) -> Task<std::string> {
      co_await sleep(1ms);
      scribble();
      co_return shape->name();
    };
    auto handle = spawn(task, std::make_unique<Circle>());
    const std::string name = co_await handle;
    EXPECT_EQ(name, "circle of " + std::string(kLong));
  };
  run_program(program);
}

// ---- By value, by move, by std::ref ----

TEST(SpawnArguments, T1_ArgumentsThatCanOnlyBeMovedAreMoved) {
  const auto program = []() -> Task<void> {
    const auto by_value = [](std::unique_ptr<int> number) -> Task<int> {
      co_await sleep(1ms);
      co_return *number;
    };
    const auto by_reference = [](const std::unique_ptr<int>& number) -> Task<int> {
      co_await sleep(1ms);
      co_return *number;
    };
    auto a = spawn(by_value, std::make_unique<int>(1));
    auto b = spawn(by_reference, std::make_unique<int>(2));
    auto both = co_await gather(a, b);
    EXPECT_EQ(both.get<0>() * 10 + both.get<1>(), 12);
  };
  run_program(program);
}

TEST(SpawnArguments, T1_ARvalueIsNeverCopied) {
  Counts counts;
  const auto program = [&]() -> Task<void> {
    const auto task = [](Counted) -> Task<void> { co_await sleep(1ms); };
    auto handle = spawn(task, Counted(counts));
    co_await handle;
    EXPECT_EQ(counts.copied, 0);
    const auto refers = [](const Counted&) -> Task<void> { co_await sleep(1ms); };
    const Counted counted(counts);
    auto copying = spawn(refers, counted);
    co_await copying;
    EXPECT_EQ(counts.copied, 1);
  };
  run_program(program);
  expect_all_gone(counts);
}

TEST(SpawnArguments, T1_AReferenceWrapperReachesTheVariableOfTheCaller) {
  const auto program = []() -> Task<void> {
    std::string text = "before";
    const auto task = [](std::string& out, const std::string& in) -> Task<void> {
      co_await sleep(1ms);
      out = in + " and after";
    };
    auto handle = spawn(task, std::ref(text), std::cref(text));
    co_await handle;
    EXPECT_EQ(text, "before and after");
  };
  run_program(program);
}

TEST(SpawnArguments, T1_TakesUpToFiveArgumentsInTheirOrder) {
  const auto program = []() -> Task<void> {
    const auto task = [](int a, std::string b, const std::string& c, std::unique_ptr<int> d,
                         double e) -> Task<std::string> {
      co_await sleep(1ms);
      co_return std::to_string(a) + b + c + std::to_string(*d) +
          std::to_string(static_cast<int>(e));
    };
    auto handle = spawn(task, 1, "-two-", "three-", std::make_unique<int>(4), 5.0);
    const std::string text = co_await handle;
    EXPECT_EQ(text, "1-two-three-45");
  };
  run_program(program);
}

// ---- Callables ----

TEST(SpawnArguments, T1_TheCapturesOfALambdaLiveAsLongAsTheTask) {
  const auto program = []() -> Task<void> {
    std::string text = kLong;
    auto task = [text]() -> Task<std::string> {
      co_await sleep(1ms);
      scribble();
      co_return text;
    };
    auto copied = spawn(task);
    auto moved = spawn(std::move(task));
    auto temporary = spawn([text, number = 3]() -> Task<std::string> {
      co_await sleep(1ms);
      scribble();
      co_return text + std::to_string(number);
    });
    auto all = co_await gather(copied, moved, temporary);
    EXPECT_EQ(all.get<0>(), kLong);
    EXPECT_EQ(all.get<1>(), kLong);
    EXPECT_EQ(all.get<2>(), std::string(kLong) + "3");
  };
  run_program(program);
}

TEST(SpawnArguments, T1_ClosuresOfAnySizeAreKept) {
  const auto program = []() -> Task<void> {
    const auto sum = [](const auto& numbers) -> Task<std::uint64_t> {
      co_await sleep(1ms);
      scribble();
      std::uint64_t total = 0;
      for (const std::uint64_t number : numbers) total += number;
      co_return total;
    };
    std::array<std::uint64_t, 2> small;  // fits into the record
    small.fill(1);
    std::array<std::uint64_t, 3> large;  // does not
    large.fill(1);
    std::array<std::uint64_t, 1000> huge;  // nor into a block of the arena
    huge.fill(1);
    auto a = spawn(sum, small);
    auto b = spawn(sum, large);
    auto c = spawn(sum, huge);
    auto all = co_await gather(a, b, c);
    EXPECT_EQ(all.get<0>(), 2u);
    EXPECT_EQ(all.get<1>(), 3u);
    EXPECT_EQ(all.get<2>(), 1000u);
  };
  run_program(program);
}

TEST(SpawnArguments, T1_ClosuresMayBeAlignedToSixteenBytes) {
  const auto program = []() -> Task<void> {
    struct alignas(16) Aligned {
      explicit Aligned(int n) : number(n) {}
      int number;
    };
    const auto task = [](const Aligned& aligned) -> Task<int> {
      co_await sleep(1ms);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&aligned) % 16, 0u);
      co_return aligned.number;
    };
    auto handle = spawn(task, Aligned(9));
    const int number = co_await handle;
    EXPECT_EQ(number, 9);
  };
  run_program(program);
}

// ---- How long they live ----

TEST(SpawnArguments, W9_AreDestroyedOnceWhenTheTaskHasEndedThoughAHandleIsKept) {
  Counts counts;
  const auto program = [&]() -> Task<void> {
    const auto task = [](const Counted&, int) -> Task<int> {
      co_await sleep(1ms);
      co_return 1;
    };
    auto handle = spawn(task, Counted(counts), 0);
    EXPECT_EQ(counts.alive, 1);
    co_await yield();
    EXPECT_EQ(counts.alive, 1) << "while it is suspended";
    co_await handle;
    EXPECT_EQ(counts.alive, 0);
    EXPECT_EQ(handle.state(), TaskState::completed);
  };
  run_program(program);
  expect_all_gone(counts);
}

TEST(SpawnArguments, W9_AreDestroyedAfterTheFrameThatRefersToThem) {
  Trace trace;
  const auto program = [&]() -> Task<void> {
    const auto task = [&](const AtExit&) -> Task<void> {
      const AtExit local(trace, "local");
      co_await sleep(1ms);
    };
    auto handle = spawn(std::ref(task), AtExit(trace, "argument"));
    co_await handle;
    trace.push_back("joined");
  };
  run_program(program);
  EXPECT_EQ(trace, Trace({"local", "argument", "joined"}));
}

TEST(SpawnArguments, W9_AreDestroyedOnceWhenTheTaskFails) {
  Counts counts;
  const auto program = [&]() -> Task<void> {
    const auto task = [](const Counted&) -> Task<void> {
      co_await sleep(1ms);
      throw std::runtime_error("failed");
    };
    auto handle = spawn(task, Counted(counts));
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.failed());
    EXPECT_EQ(counts.alive, 0);
  };
  run_program(program);
  expect_all_gone(counts);
}

TEST(SpawnArguments, I4_AreDestroyedOnceWhenTheTaskIsCancelledBeforeItsStart) {
  Counts small;
  Counts large;
  const auto program = [&]() -> Task<void> {
    const auto task = [](const Counted&) -> Task<void> { co_return; };
    const auto many = [](const Counted&, std::array<int, 100>) -> Task<void> { co_return; };
    auto a = spawn(task, Counted(small));
    auto b = spawn(many, Counted(large), std::array<int, 100>());
    a.cancel();
    b.cancel();
    EXPECT_EQ(small.alive, 0) << "at once, not when its turn would have come";
    EXPECT_EQ(large.alive, 0);
    co_await yield();
  };
  run_program(program);
  expect_all_gone(small);
  expect_all_gone(large);
}

TEST(SpawnArguments, I4_AreDestroyedOnceWhenTheTaskIsCancelledWhileItIsParked) {
  Counts counts;
  const auto program = [&]() -> Task<void> {
    const auto task = [](Counted, const Counted&) -> Task<void> { co_await sleep(1h); };
    auto handle = spawn(task, Counted(counts), Counted(counts));
    co_await yield();
    handle.cancel();
    static_cast<void>(co_await handle.outcome());
    EXPECT_EQ(counts.alive, 0);
  };
  run_program(program);
  expect_all_gone(counts);
}

TEST(SpawnArguments, T2_AreDestroyedOnceWithTheScheduler) {
  Counts counts;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto task = [](const Counted&) -> Task<void> { co_await sleep(1h); };
    scheduler.spawn(task, Counted(counts));
    scheduler.step();
    scheduler.spawn(task, Counted(counts));
    EXPECT_EQ(counts.alive, 2);
  }
  expect_all_gone(counts);
}

TEST(SpawnArguments, W9_ACallableIsDestroyedWithItsTask) {
  const auto token = std::make_shared<int>(1);
  const auto program = [&]() -> Task<void> {
    auto handle = spawn([token]() -> Task<void> { co_await sleep(1ms); });
    EXPECT_EQ(token.use_count(), 2);
    co_await handle;
    EXPECT_EQ(token.use_count(), 1);
    auto cancelled = spawn([token]() -> Task<void> { co_await sleep(1ms); });
    cancelled.cancel();
    EXPECT_EQ(token.use_count(), 1);
  };
  run_program(program);
}

// ---- Exceptions on the way ----

TEST(SpawnArguments, T10_ACallableThatThrowsBeforeItReturnsATaskFailsTheTask) {
  Counts counts;
  const auto program = [&]() -> Task<void> {
    const auto picky = [](const Counted&, int number) -> Task<int> {
      const auto doubled = [](int n) -> Task<int> { co_return 2 * n; };
      if (number < 0) throw std::invalid_argument("a negative number");
      return doubled(number);
    };
    auto fails = spawn(picky, Counted(counts), -1);
    auto works = spawn(picky, Counted(counts), 4);
    const int result = co_await works;
    EXPECT_EQ(result, 8);
    const auto error = co_await error_of(fails);
    EXPECT_EQ(what_of(error), "a negative number");
    EXPECT_EQ(fails.state(), TaskState::failed);
    EXPECT_EQ(counts.alive, 0);
  };
  run_program(program);
  expect_all_gone(counts);
}

// Throws when it is copied or moved for the given time, counted down to one.
class Fragile {
 public:
  explicit Fragile(int lives) : lives_(lives) {}
  Fragile(const Fragile& other) : lives_(other.lives_ - 1) { check(); }
  Fragile(Fragile&& other) : lives_(other.lives_ - 1) { check(); }
  Fragile& operator=(const Fragile&) = delete;

 private:
  void check() const {
    if (lives_ <= 0) throw std::runtime_error("broken while it was moved");
  }
  int lives_;
};

TEST(SpawnArguments, T10_AnArgumentThatCannotBeKeptIsAnErrorAtTheSpawnAndNoTaskIsMade) {
  Counts counts;
  const auto program = [&]() -> Task<void> {
    const auto task = [](const Fragile&, const Counted&) -> Task<void> { co_return; };
    const std::size_t before = Scheduler::current()->live_tasks();
    // One life: it does not survive the way into the closure. Two: nor the closure's way into the
    // arena.
    for (const int lives : {1, 2}) {
      const auto error = thrown_by([&] { spawn(task, Fragile(lives), Counted(counts)); });
      EXPECT_EQ(what_of(error), "broken while it was moved") << lives;
    }
    EXPECT_EQ(Scheduler::current()->live_tasks(), before);
    EXPECT_EQ(Scheduler::current()->ready_len(), 0u);
    EXPECT_EQ(counts.alive, 0);
    auto works = spawn(task, Fragile(100), Counted(counts));
    co_await works;
  };
  run_program(program);
  expect_all_gone(counts);
}

TEST(SpawnArguments, T10_AnArgumentThatCannotBecomeAParameterFailsTheTask) {
  Counts counts;
  const auto program = [&]() -> Task<void> {
    const auto task = [](Fragile, Counted) -> Task<void> { co_return; };
    int spawned_with = 0;
    Handle<void> handle;
    // The fewest lives that survive the spawn do not survive the call.
    for (int lives = 1; !handle; ++lives) {
      spawned_with = lives;
      try {
        handle = spawn(task, Fragile(lives), Counted(counts));
      } catch (const std::runtime_error&) {
      }
    }
    EXPECT_GT(spawned_with, 1);
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.failed());
    EXPECT_EQ(what_of(outcome.error()), "broken while it was moved");
    EXPECT_EQ(counts.alive, 0);
  };
  run_program(program);
  expect_all_gone(counts);
}

}  // namespace spawn_arguments_test
}  // namespace tiffany
