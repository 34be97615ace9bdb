// The eight steps of David Beazley's "A Curious Course on Coroutines and Concurrency", in which a
// small operating system grows out of coroutines, taken again with Tiffany. docs/00-tutorial.md
// goes through them.
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

// ---- Step 1: tasks

Task<void> foo() {
  std::printf("part 1\n");
  co_await yield();
  std::printf("part 2\n");
  co_await yield();
}

void step_1() {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(foo);
  while (scheduler.step()) std::printf("  back in the scheduler\n");
}

// ---- Step 2: a scheduler

Task<void> talk(std::string name) {
  for (;;) {
    std::printf("I'm %s\n", name.c_str());
    co_await yield();
  }
}

void step_2() {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(talk, "foo");
  scheduler.spawn(talk, "bar");
  for (int i = 0; i < 6; ++i) scheduler.step();
}

// ---- Step 3: the end of a task

Task<void> talk_for_a_while(std::string name, int times) {
  for (int i = 0; i < times; ++i) {
    std::printf("I'm %s\n", name.c_str());
    co_await yield();
  }
}

void step_3() {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(talk_for_a_while, "foo", 3);
  scheduler.spawn(talk_for_a_while, "bar", 1);
  scheduler.run();
  std::printf("tasks left: %zu\n", scheduler.live_tasks());
}

// ---- Step 4: system calls

class GetTid final : public SystemCall {
 public:
  static constexpr CallName call_name{"get_tid"};
  Answer start(Scheduler&, TaskRecord& task) noexcept {
    tid_ = task.id();
    return Answer::now;  // no need to suspend
  }
  void withdraw(TaskRecord&) noexcept override {}  // it never waits
  TaskId finish() const noexcept { return tid_; }
  std::string describe() const override { return "its own id"; }

 private:
  TaskId tid_;
};

Task<void> who_am_i(std::string name, int times) {
  const TaskId tid = co_await GetTid();
  for (int i = 0; i < times; ++i) {
    std::printf("I'm %s, task %s\n", name.c_str(), tid.text().c_str());
    co_await yield();
  }
}

Task<void> step_4() {
  auto a = spawn(who_am_i, "foo", 2);
  auto b = spawn(who_am_i, "bar", 1);
  co_await gather(a, b);
}

// ---- Step 5: new tasks, and their untimely end

struct Farewell {
  ~Farewell() { std::printf("the child is gone\n"); }
};

Task<void> child() {
  const Farewell farewell;
  for (;;) {
    std::printf("I'm the child\n");
    co_await yield();
  }
}

Task<void> step_5() {
  auto handle = spawn(child);
  for (int i = 0; i < 3; ++i) co_await yield();
  handle.cancel("it has talked enough");
  co_await yield();
  std::printf("main done, the child is %s\n", name_of(handle.state()));
}

// ---- Step 6: waiting for tasks

Task<int> count_to(int last) {
  for (int i = 1; i <= last; ++i) {
    std::printf("child counts %d\n", i);
    co_await yield();
  }
  co_return last;
}

Task<void> step_6() {
  auto handle = spawn(count_to, 3);
  std::printf("waiting for the child\n");
  const int result = co_await handle;
  std::printf("the child is done and says %d\n", result);
}

// ---- Step 7: waiting for the world

Task<void> echo(int client, std::string line) {
  std::printf("echo to client %d: %s\n", client, line.c_str());
  co_return;
}

Task<void> server(Mailbox<std::string>& network) {
  for (int client = 1; client <= 3; ++client) {
    std::string line = co_await network.next();  // this task waits; others could run
    spawn(echo, client, std::move(line));
  }
}

Task<void> step_7() {
  Mailbox<std::string> network(16);
  std::thread world([sender = network.sender()] {
    for (const char* line : {"hello", "is anybody there", "goodbye"}) sender.post(line);
  });
  co_await server(network);
  world.join();
  co_await yield();
}

// ---- Step 8: coroutines that call coroutines

Task<int> add(int x, int y) {
  co_await yield();
  co_return x + y;
}

Task<int> sum_to(int n) {
  if (n == 0) co_return 0;
  const int rest = co_await sum_to(n - 1);
  co_return rest + 1;
}

Task<void> step_8() {
  const int five = co_await add(2, 3);
  std::printf("2 + 3 = %d\n", five);
  const int deep = co_await sum_to(100'000);
  std::printf("%d calls deep and back\n", deep);
}

// ----

void heading(int number, const char* text) { std::printf("\nStep %d: %s\n", number, text); }

int run_step(Task<void> step) { return run(std::move(step), Options().virtual_time()); }

}  // namespace

int main() {
  std::printf("An operating system in eight steps\n");
  heading(1, "a task runs until it yields");
  step_1();
  heading(2, "a scheduler takes turns");
  step_2();
  heading(3, "tasks end, and the scheduler with the last of them");
  step_3();
  heading(4, "a task asks the scheduler for something");
  int failed = run_step(step_4());
  heading(5, "tasks start others, and stop them");
  failed += run_step(step_5());
  heading(6, "a task waits for another");
  failed += run_step(step_6());
  heading(7, "a task waits for the world outside");
  failed += run_step(step_7());
  heading(8, "coroutines call coroutines, to any depth");
  failed += run_step(step_8());
  return failed;
}
