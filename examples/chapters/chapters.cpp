// The code that the chapters of docs/ show, as one program that the tests run.
#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

// ---- docs/01-tasks.md

Task<std::string> greet(const std::string& name) {
  co_await sleep(1ms);
  co_return "hello " + name;
}

Task<void> call_and_spawn() {
  std::string now_please = co_await greet("Ann");  // a call: runs here, as part of this task
  auto later = spawn(greet, "Bob");                // a task of its own: queued, runs when we wait
  std::printf("%s, %s\n", now_please.c_str(), (co_await later).c_str());
}

Task<std::unique_ptr<int>> make_box(int value) { co_return std::make_unique<int>(value); }

Task<void> take_a_box() {
  auto handle = spawn(make_box, 7);
  std::unique_ptr<int> box = co_await std::move(handle);
  std::printf("a box with %d\n", *box);
}

// ---- docs/02-waiting.md

Task<int> flaky(int value, bool works) {
  co_await sleep(value * 1ms);
  if (!works) throw std::runtime_error("no luck with " + std::to_string(value));
  co_return value;
}

Task<void> wait_for_several() {
  std::vector<Handle<int>> handles;
  for (int i = 1; i <= 3; ++i) handles.push_back(spawn(flaky, i, i != 2));

  auto ends = co_await all_settled(handles);
  for (const auto& end : ends) std::printf("%s ", end.ok() ? "ok" : "failed");

  auto best = co_await any(flaky(1, false), flaky(2, true), flaky(3, true));
  std::printf("any: %d\n", best.value);
}

Task<void> from_another_thread() {
  ExternalPromise<int> answer;
  std::thread other([answer] { answer.complete(42); });
  int value = co_await answer.future();
  other.join();
  std::printf("from another thread: %d\n", value);
}

// ---- docs/03-cancellation.md

Task<void> save_everything() {
  co_await sleep(5ms);
  std::printf("saved\n");
}

Task<void> edit_document() {
  bool cancelled = false;
  try {
    co_await sleep(1h);
  } catch (const Cancelled&) {
    cancelled = true;  // no co_await inside a catch block: the language forbids it
  }
  if (cancelled) co_await shield(save_everything());
  co_await checkpoint();  // the cancellation goes on from here
  std::printf("not reached\n");
}

Task<void> stop_editing() {
  auto editor = spawn(edit_document);
  co_await sleep(1ms);
  auto end = co_await cancel_and_join(editor, "closing the window");
  std::printf("the editor was %s\n", end.cancelled() ? "cancelled" : "not cancelled");
}

// ---- docs/04-scopes.md

Task<void> fetch(int page) {
  co_await sleep(page * 1ms);
  if (page == 4) throw std::runtime_error("page 4 is missing");
}

Task<void> fetch_all() {
  try {
    co_await scope([&](Scope& s) -> Task<void> {
      s.set_timeout(1s);
      for (int page = 1; page <= 10; ++page) s.spawn(fetch, page);
      co_return;
    });
  } catch (const std::runtime_error& error) {
    std::printf("%s, and the other fetches have ended\n", error.what());
  }
}

// ---- docs/06-engines.md

class Countdown : public AgentTask<std::string> {
 public:
  explicit Countdown(int from) : left_(from) {}
  Poll<std::string> poll(PollContext& context) override {
    if (left_-- == 0) return Poll<std::string>::ready("lift-off");
    context.wake_after(1s);
    return Poll<std::string>::pending();
  }

 private:
  int left_;
};

Task<void> launch() {
  auto handle = spawn_agent(std::make_unique<Countdown>(3));
  std::printf("%s\n", (co_await handle).c_str());
}

// ---- docs/07-system-calls.md

// A gate that opens once. Tasks park at it until then.
class Gate {
 public:
  void open() {
    open_ = true;
    for (const Pass* pass : waiting_) pass->wake(*pass->task_);
    waiting_.clear();
  }

  class Pass final : public SystemCall {
   public:
    static constexpr CallName call_name{"pass_gate"};
    explicit Pass(Gate& gate) noexcept : gate_(gate) {}

    Answer start(Scheduler&, TaskRecord& task) {
      if (gate_.open_) return Answer::now;
      task_ = &task;
      gate_.waiting_.push_back(this);
      return Answer::parked;
    }
    void withdraw(TaskRecord&) noexcept override { std::erase(gate_.waiting_, this); }
    void finish() noexcept {}
    std::string describe() const override { return "a gate to open"; }

   private:
    friend class Gate;
    Gate& gate_;
    TaskRecord* task_ = nullptr;
  };
  Pass pass() noexcept { return Pass(*this); }

 private:
  bool open_ = false;
  std::vector<Pass*> waiting_;
};

Task<void> visitor(Gate& gate, int number) {
  co_await gate.pass();
  std::printf("visitor %d is in\n", number);
}

Task<void> open_the_gate() {
  Gate gate;
  auto first = spawn(visitor, std::ref(gate), 1);
  auto second = spawn(visitor, std::ref(gate), 2);
  co_await sleep(1ms);
  gate.open();
  co_await gather(first, second);
}

Task<void> chapters() {
  co_await call_and_spawn();
  co_await take_a_box();
  co_await wait_for_several();
  co_await from_another_thread();
  co_await stop_editing();
  co_await fetch_all();
  co_await launch();
  co_await open_the_gate();
}

}  // namespace

int main() { return run(chapters(), Options().virtual_time()); }
