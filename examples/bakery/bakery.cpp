// A bakery on virtual time, asked in the middle of its work what it is doing, and then why
// something went wrong. docs/09-explaining-itself.md shows what this prints.
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

void print(const std::string& text) { std::printf("%s\n", text.c_str()); }

// ---- What is everybody doing?

Task<void> fetch(std::string what) { co_await sleep(what == "eggs" ? 30ms : 20ms); }

Task<void> restock(std::string what) { co_await fetch(std::move(what)); }

Task<void> bake() {
  const auto shift = [](Scope& s) -> Task<void> {
    s.set_timeout(1s);
    s.spawn(restock, "flour").named("flour");
    s.spawn(restock, "eggs").named("eggs");
    co_return;
  };
  co_await scope(shift);
}

Task<void> wash_up() { co_await sleep(10ms); }

Task<void> clean() { co_await shield(wash_up()); }

Task<void> serve(Future<void> opening) { co_await opening; }

Task<void> sweep() {
  co_await sleep(5ms);
  co_await yield();
}

Task<void> answer_phone(ExternalPromise<int> phone) { static_cast<void>(co_await phone.future()); }

Task<void> inspect(Handle<void> cleaner, bool as_json) {
  co_await sleep(5ms);
  cleaner.cancel("closing early");
  auto next = spawn.with_priority(20)(serve, Future<void>()).named("too late");
  const Scheduler& scheduler = *Scheduler::current();
  print(as_json ? scheduler.dump_json() : scheduler.dump_text());
  next.cancel();
}

Task<void> bakery(bool as_json) {
  Promise<void> opening;
  ExternalPromise<int> phone;
  auto baker = spawn(bake).named("baker");
  auto counter = spawn(serve, opening.future()).named("counter");
  auto cleaner = spawn(clean).named("cleaner");
  auto broom = spawn(sweep);
  auto caller = spawn(answer_phone, phone).named("phone");
  auto visit = spawn.system()(inspect, cleaner, as_json).named("inspector");
  co_await gather(baker, visit);
  opening.complete();
  phone.complete(1);
}

// ---- What went wrong, and how did it get here?

Task<int> weigh(int grams) {
  co_await sleep(1ms);
  if (grams < 0) throw std::runtime_error("the scales show less than nothing");
  co_return grams;
}

Task<int> mix_dough(int grams) { co_return co_await weigh(grams) + co_await weigh(-grams); }

Task<int> follow_recipe() {
  auto dough = spawn(mix_dough, 500).named("dough");
  co_return co_await dough;
}

Task<void> ask_why() {
  auto recipe = spawn(follow_recipe).named("recipe");
  try {
    static_cast<void>(co_await recipe);
  } catch (const std::exception& error) {
    print(std::string("caught: ") + error.what());
    print(trace_of(std::current_exception())->text());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  if (what == "all" || what == "text") run(bakery(false), Options().virtual_time());
  if (what == "all" || what == "json") run(bakery(true), Options().virtual_time());
  if (what == "all" || what == "why") run(ask_why(), Options().virtual_time());
  return 0;
}
