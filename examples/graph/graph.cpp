// Tasks that come after other tasks: one by one with spawn.after, and as a whole graph by name.
#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

void say(const std::string& text) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now().time_since_epoch());
  std::printf("%4lld ms  %s\n", static_cast<long long>(ms.count()), text.c_str());
}

Task<std::string> fetch(const std::string& page) {
  co_await sleep(10ms);
  if (page.empty()) throw std::runtime_error("no page to fetch");
  co_return "<" + page + ">";
}
Task<std::size_t> count_letters(const std::string& text) {
  co_await sleep(1ms);
  co_return text.size();
}
Task<void> report(std::string what) {
  say(what);
  co_return;
}

// ---- One by one

Task<void> one_by_one() {
  auto page = spawn(fetch, "home").named("page");
  auto size = spawn.from(page)(count_letters);                   // gets the page
  auto told = spawn.after(page, size)(report, "both are here");  // only the order
  auto broken = spawn(fetch, "").named("broken");
  auto skipped = spawn.from(broken)(count_letters);  // never begins
  auto tidied = spawn.after(broken, told).if_failed(IfFailed::run)(report, "tidied up");

  say("the page has " + std::to_string(co_await size) + " letters");
  const auto end = co_await skipped.outcome();
  say(end.cancelled() ? "skipped: its page is missing" : "not skipped");
  co_await tidied;
  static_cast<void>(co_await broken.outcome());
}

// ---- As a whole

Task<int> build(const std::string& what, Duration takes) {
  say("start " + what);
  co_await sleep(takes);
  co_return static_cast<int>(takes / 1ms);
}

Task<void> as_a_whole() {
  TaskGraph graph;
  auto program = graph.add("program", build, "program", 5ms).after("objects", "library");
  auto objects = graph.add("objects", build, "objects", 30ms).after("headers");
  graph.add("headers", build, "headers", 10ms);
  auto library = graph.add("library", build, "library", 20ms);
  graph
      .add(
          "sum",
          [=]() -> Task<void> {
            say("worked for " + std::to_string(objects.value() + library.value()) + " ms on parts");
            co_return;
          })
      .after("objects", "library");
  co_await graph.run();
  say("the program took " + std::to_string(program.value()) + " ms");
}

Task<void> what_cannot_be() {
  TaskGraph graph;
  graph.add("egg", build, "egg", 1ms).after("hen");
  graph.add("hen", build, "hen", 1ms).after("chick");
  graph.add("chick", build, "chick", 1ms).after("egg");
  try {
    co_await graph.run();
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
}

Task<void> program() {
  co_await one_by_one();
  co_await as_a_whole();
  co_await what_cannot_be();
}

}  // namespace

int main() { return run(program(), Options().virtual_time().order(longest_path_order())); }
