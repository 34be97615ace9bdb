#include "tiffany/durable/interceptor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "durable/memory_test.hpp"
#include "tiffany/durable/span_interceptor.hpp"

namespace tiffany {
namespace interceptor_test {

using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

const Uuid kTask = Uuid::derived(Uuid(), "intercepted");

// Notes every call, and throws where it is told to.
class Notes : public Interceptor {
 public:
  void on_start(StartCall& call) override {
    said.push_back("start " + std::string(call.type) + std::string(call.arguments) +
                   (call.parent.nil() ? "" : " child"));
    if (refuses == "start") throw std::runtime_error("nobody starts here.");
    if (!tenant.empty()) call.attributes.insert_or_assign("tenant", Attribute(tenant));
  }
  void on_signal(const SignalCall& call) override {
    said.push_back("signal " + std::string(call.name) + " " + std::string(call.value));
    if (refuses == "signal") throw std::runtime_error("nobody speaks here.");
  }
  void on_update(const UpdateCall& call) override {
    said.push_back("update " + std::string(call.name) + " " + std::string(call.request) + " of " +
                   std::string(call.type));
    if (refuses == "update") throw std::runtime_error("nobody asks here.");
  }
  void step_begins(const StepCall& call) override {
    said.push_back("begins " + std::string(call.step) + " " + std::to_string(call.attempt));
    if (refuses == "step") throw NotRetryable("nobody works here.");
  }
  void step_ended(const StepCall& call, const std::exception_ptr& failure) noexcept override {
    said.push_back((failure == nullptr ? "ended " : "failed ") + std::string(call.step) + " " +
                   std::to_string(call.attempt));
  }
  void task_ended(const TaskCall& call, DurableStatus status,
                  std::string_view detail) noexcept override {
    said.push_back(std::string(call.type) + " " + std::string(name_of(status)) + " " +
                   std::string(detail));
  }
  Strings said;
  std::string refuses;
  std::string tenant;
};

class InterceptorTest : public MemoryTest {
 protected:
  InterceptorTest() {
    world.types = [] {
      Registry types;
      types.add("task", 1, &InterceptorTest::work);
      types.add("child", 1, &InterceptorTest::child);
      types.add("sums", 1, &InterceptorTest::sums);
      return types;
    };
    world.host_options.interceptors.push_back(notes);
  }
  static Durable<int> child(Flow& flow, int x) {
    co_await flow.sleep(1h);
    co_return x + 1;
  }
  static constexpr UpdateName<int, int> add{"add"};
  static Durable<int> sums(Flow& flow) {
    int sum = 0;
    const auto valid = [](int number) {
      if (number < 0) throw std::invalid_argument("a negative number");
    };
    const auto adds = flow.on_update(add, valid, [&](int number) { return sum += number; });
    co_await flow.wait_until([&] { return sum > 10; });
    co_return sum;
  }
  static Durable<std::string> work(Flow& flow) {
    std::string all;
    try {
      co_await flow.step("plain", [] { effects.push_back("plain"); });
      const auto options = [] { return StepOptions().retry(Retry(2, 1s)); };
      co_await flow.step("twice", options(), [](Attempt& attempt) -> Task<void> {
        effects.push_back("twice");
        if (attempt.number() == 1) throw std::runtime_error("not now");
        co_return;
      });
    } catch (const Error& e) {
      all = e.what();
    }
    try {
      auto one = co_await flow.spawn<int>("child", 1);
      all += std::to_string(co_await one);
    } catch (const Error& e) {
      all += e.what();
    }
    co_return all + co_await flow.signal<std::string>("word");
  }
  std::shared_ptr<Notes> notes = std::make_shared<Notes>();
};
TIFFANY_IN_EVERY_STORE(InterceptorTest);

TEST_P(InterceptorTest, EachCallIsToldOnceAndNoneIsToldByAReplay) {
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "task");
    co_await host.start_as(kTask, "task");  // the same task: it is not started again
    co_await sleep(2h);
  });
  EXPECT_EQ(notes->said, (Strings{"start task[]", "begins plain#1 1", "ended plain#1 1",
                                  "begins twice#1 1", "failed twice#1 1", "begins twice#1 2",
                                  "ended twice#1 2", "start child[1] child", "child completed 2"}));
  notes->said.clear();
  world.live([&](Host& host) -> Task<void> {
    co_await host.signal(kTask, "word", std::string("!"));
    EXPECT_EQ(co_await host.result<std::string>(kTask), "2!");
  });
  EXPECT_EQ(notes->said, (Strings{"signal word \"!\"", "task completed \"2!\""}));
}

TEST_P(InterceptorTest, ARefusedStartHasItsSentenceAndRecordsNothing) {
  notes->refuses = "start";
  world.live([&](Host& host) -> Task<void> {
    std::string said;
    try {
      co_await host.start_as(kTask, "task");
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::call_refused);
      said = e.what();
    }
    EXPECT_EQ(said, "nobody starts here.");
    EXPECT_FALSE(host.info(kTask).has_value());
    notes->refuses.clear();
    co_await host.start_as(kTask, "task");
    notes->refuses = "start";  // of the child
    co_await host.signal(kTask, "word", std::string("!"));
    EXPECT_EQ(co_await host.result<std::string>(kTask), "nobody starts here.!");
  });
}

TEST_P(InterceptorTest, ARefusedSignalHasItsSentenceAndRecordsNothing) {
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "task");
    notes->refuses = "signal";
    EXPECT_EQ(co_await error_of(host.signal(kTask, "word", std::string("?"))), Errc::call_refused);
    notes->refuses.clear();
    co_await host.signal(kTask, "word", std::string("!"));
    EXPECT_EQ(co_await host.result<std::string>(kTask), "2!");
  });
}

TEST_P(InterceptorTest, AnUpdateIsToldBeforeItsValidatorLooksAndARefusedOneRecordsNothing) {
  const Uuid first = Uuid::derived(kTask, "first");
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "sums");
    EXPECT_EQ(co_await host.update(kTask, add, 4, first), 4);
    EXPECT_EQ(co_await host.update(kTask, add, 4, first), 4) << "asked again: it is not told";
    EXPECT_EQ(co_await error_of(host.update(kTask, add, -1)), Errc::update_refused);
    EXPECT_EQ(co_await error_of(host.update_json(kTask, "add", "true")), Errc::bad_json);
    notes->refuses = "update";
    std::string said;
    try {
      co_await host.update(kTask, add, 5);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::call_refused);
      said = e.what();
    }
    EXPECT_EQ(said, "nobody asks here.");
  });
  EXPECT_EQ(notes->said, (Strings{"start sums[]", "update add 4 of sums", "update add -1 of sums",
                                  "update add 5 of sums"}));
  notes->said.clear();
  notes->refuses.clear();
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await host.update(kTask, add, 7), 11) << "what was refused is not in the log";
    EXPECT_EQ(co_await host.result<int>(kTask), 11);
  });
  EXPECT_EQ(notes->said, (Strings{"update add 7 of sums", "sums completed 11"}));
}

TEST_P(InterceptorTest, ARefusedStepHasFailedWithTheSentenceAndItsCodeDoesNotRun) {
  const auto second = std::make_shared<Notes>();
  second->refuses = "step";
  world.host_options.interceptors.push_back(second);
  const auto program = [&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "task");
    if (host.info(kTask)->status == DurableStatus::running) {
      co_await host.signal(kTask, "word", std::string("!"));
    }
    EXPECT_EQ(co_await host.result<std::string>(kTask), "nobody works here.2!");
  };
  world.live(program);
  EXPECT_TRUE(effects.empty());
  // The first was told of the end of what the second refused; the second was not.
  const auto times = [](const Strings& said, const char* what) {
    return std::count(said.begin(), said.end(), what);
  };
  EXPECT_EQ(times(notes->said, "failed plain#1 1"), 1);
  EXPECT_EQ(times(second->said, "begins plain#1 1"), 1);
  EXPECT_EQ(times(second->said, "failed plain#1 1"), 0);
  // What was refused is recorded: without the interceptors the task has the same result.
  world.host_options.interceptors.clear();
  world.live(program);
}

TEST_P(InterceptorTest, AttributesThatAreAddedAtTheStartAreThoseOfTheTask) {
  notes->tenant = "north";
  for (int life = 0; life < 2; ++life) {
    world.live([&](Host& host) -> Task<void> {
      co_await host.start_as(kTask, "task");
      co_await sleep(1h);
      const auto found = host.tasks(TaskFilter().attribute("tenant", "north"));
      EXPECT_EQ(found.tasks.size(), 2U) << "the task and its child";
    });
  }
  notes->tenant = std::string(1000, 'x');  // beyond the limits of an attribute
  world.live([&](Host& host) -> Task<void> {
    EXPECT_EQ(co_await error_of(host.start("task")), Errc::bad_argument);
    EXPECT_EQ(host.tasks().size(), 2U);
  });
}

TEST_P(InterceptorTest, WhatIsAddedToAChildIsCheckedAsWhatIsAddedToATask) {
  world.live([&](Host& host) -> Task<void> {
    co_await host.start_as(kTask, "task");
    notes->tenant = std::string(1000, 'x');  // beyond the limits of an attribute
    co_await sleep(1h);
    EXPECT_EQ(host.tasks().size(), 1U) << "the child was refused";
    notes->tenant.clear();
    co_await host.signal(kTask, "word", std::string("!"));
    const std::string said = co_await host.result<std::string>(kTask);
    EXPECT_NE(said.find("attribute"), std::string::npos) << said;
  });
}

TEST_P(InterceptorTest, WhateverIsToldTheLogIsTheSameWhereverTheProcessIsCutOff) {
  world.crash_everywhere(
      [&] { notes->said.clear(); },
      [&](Host& host) -> Task<void> {
        co_await host.start_as(kTask, "task");
        try {
          co_await host.signal(kTask, "word", std::string("!"));
        } catch (const Error& e) {
          // It has ended, or the process is being cut off.
          EXPECT_TRUE(e.code() == Errc::durable_stopped || e.code() == Errc::log_sealed)
              << e.what();
        }
        EXPECT_EQ(co_await host.result<std::string>(kTask), "2!");
      },
      [&] {
        const auto ends =
            std::count(notes->said.begin(), notes->said.end(), "task completed \"2!\"");
        EXPECT_LE(ends, 1) << world.crashed_after;
      });
}

TEST_P(InterceptorTest, EachStepAndEachTaskHasASpanWithTheSameIdInEveryProcess) {
  const auto spans_of = [&](bool restarts) {
    observe::Tracer tracer;
    world.disk = std::make_shared<MemoryDisk>();
    world.host_options.interceptors = {std::make_shared<SpanInterceptor>(tracer)};
    world.live([&](Host& host) -> Task<void> {
      co_await host.start_as(kTask, "task");
      co_await sleep(restarts ? 2h : 3h);
      if (restarts) co_return;
      co_await host.signal(kTask, "word", std::string("!"));
      co_await host.result_json(kTask);
    });
    if (restarts) {
      world.live([&](Host& host) -> Task<void> {
        co_await sleep(1h);
        co_await host.signal(kTask, "word", std::string("!"));
        co_await host.result_json(kTask);
      });
    }
    EXPECT_EQ(tracer.open(), 0U);
    return tracer.take();
  };
  const std::vector<observe::EndedSpan> once = spans_of(false);
  const std::vector<observe::EndedSpan> twice = spans_of(true);
  ASSERT_EQ(once.size(), 5U);  // plain, twice two times, the child, the task
  ASSERT_EQ(twice.size(), once.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].id, twice[i].id) << i;
    EXPECT_EQ(once[i].name, twice[i].name) << i;
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(once[i].id, once[j].id);
  }
  const observe::EndedSpan& task = twice.back();
  EXPECT_EQ(task.name, "task");
  EXPECT_EQ(task.id, SpanInterceptor::span_of(kTask));
  EXPECT_EQ(twice[0].name, "plain#1");
  EXPECT_EQ(twice[0].parent, task.id.span);
  EXPECT_TRUE(twice[1].failed);
  EXPECT_EQ(twice[1].error, "not now");
  EXPECT_GE((task.ended - task.began) / 1'000'000'000, 2 * 3600);
}

}  // namespace interceptor_test
}  // namespace tiffany
