// A tree of workers that crash and are started again, on virtual time: ten seconds of an unlucky
// shop in no time at all, the same on every run.
//
//   main          rest_for_one: when the database goes, so does what was started after it
//   ├── database
//   └── storefront   one_for_one: a supervisor of its own
//       ├── search
//       ├── checkout
//       └── import      transient: done when it returns
#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

void say(const std::string& who, const std::string& what) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now().time_since_epoch());
  std::printf("%5lld ms  %-11s %s\n", static_cast<long long>(ms.count()), who.c_str(),
              what.c_str());
}

// Says so when a worker leaves, in whatever way.
class Leaving {
 public:
  explicit Leaving(std::string who) : who_(std::move(who)) {}
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;
  ~Leaving() { say(who_, "is down"); }

 private:
  std::string who_;
};

// What the workers do in each of their lives. Shared by all of them, and outlives them.
struct Shop {
  int databases = 0;
  int checkouts = 0;
  int imports = 0;
  bool out_of_paper = false;
};

Task<void> database(Shop& shop) {
  say("database", "is up");
  const Leaving leaving("database");
  if (++shop.databases == 1) {
    co_await sleep(2500ms);
    throw std::runtime_error("a page of the index is damaged");
  }
  co_await sleep(24h);
}

Task<void> search() {
  say("search", "is up");
  const Leaving leaving("search");
  co_await sleep(24h);
}

Task<void> checkout(Shop& shop) {
  say("checkout", "is up");
  const Leaving leaving("checkout");
  const bool unlucky = ++shop.checkouts <= 2;
  do {
    co_await sleep(300ms);
    if (unlucky) throw std::runtime_error("the card terminal does not answer");
  } while (!shop.out_of_paper);
  throw std::runtime_error("out of paper");
}

Task<void> import_prices(Shop& shop, const std::string& file) {
  say("import", "reads " + file);
  co_await sleep(50ms);
  if (++shop.imports == 1) throw std::runtime_error(file + " is locked");
  say("import", "is done");
}

Task<void> storefront(Shop& shop) {
  const auto how = Supervision(RestartStrategy::one_for_one).intensity(3, 2s).backoff(10ms, 100ms);
  const auto children = [&](Supervisor& s) {
    s.permanent("search", search);
    s.permanent("checkout", checkout, std::ref(shop));
    s.transient("import", import_prices, std::ref(shop), "prices.csv");
  };
  co_await supervise(how, children);
}

Task<void> fate(Shop& shop) {
  co_await sleep(1s);
  say("fate", "looks at the tasks:");
  std::printf("%s", Scheduler::current()->dump_text().c_str());
  co_await sleep(4s);
  say("fate", "takes away the paper, for good");
  shop.out_of_paper = true;
}

Task<void> program() {
  Shop shop;
  spawn(fate, std::ref(shop)).named("fate");
  const auto how = Supervision(RestartStrategy::rest_for_one).intensity(2, 10s).backoff(100ms, 1s);
  const auto children = [&](Supervisor& s) {
    s.permanent("database", database, std::ref(shop));
    s.permanent("storefront", storefront, std::ref(shop));
  };
  try {
    co_await supervise(how, children);
  } catch (const SupervisionFailed& failed) {
    say("main", "has lost its shop, after " + std::to_string(failed.history().size()) +
                    " failures below it:");
    std::printf("%s\n", failed.what());
  }
}

void print_log(const LogLine& line) { say(std::string(line.task_name), std::string(line.message)); }

}  // namespace

int main() { return run(program(), Options().virtual_time().log_to(print_log)); }
