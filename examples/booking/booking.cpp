// How to find a race with TestScheduler and explore(): a seat that two people can book.
// docs/12-testing.md goes through it.
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>

#include "tiffany/test/explore.hpp"
#include "tiffany/test/mock.hpp"
#include "tiffany/test/test_scheduler.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace tiffany::test;
using namespace std::chrono_literals;

namespace {

// ---- The code under test

using Charge = std::function<Task<bool>(std::string)>;  // pays, somewhere on the network

struct Seat {
  std::string owner;
};

Task<bool> book(Seat& seat, const Charge& charge, std::string who) {
  if (!seat.owner.empty()) co_return false;
  const bool paid = co_await charge(who);
  if (!paid) co_return false;
  seat.owner = who;
  co_return true;
}

Task<std::string> book_or_give_up(Seat& seat, const Charge& charge, std::string who) {
  const auto booked = co_await within(2s, book(seat, charge, who));
  if (booked.timed_out()) co_return "the bank does not answer";
  co_return *booked ? "booked" : "refused";
}

// ---- One step at a time, with a stand-in for the bank

void expect(bool holds, const char* what) {
  std::printf("  %s: %s\n", holds ? "ok" : "FAILED", what);
}

void by_hand() {
  TestScheduler test;
  Mock<bool(std::string)> bank("bank");
  bank.returns(true).after(300ms);
  bank.throws(std::runtime_error("no such card"));
  bank.hangs();
  const Charge charge = std::ref(bank);

  Seat seat;
  auto ann = test.spawn(book_or_give_up, std::ref(seat), std::ref(charge), "ann");
  test.step_until_idle();
  expect(test.task_state(ann) == TaskState::blocked, "ann waits for the bank");
  test.advance(299ms);
  expect(seat.owner.empty(), "after 299 ms the seat is free");
  test.advance(1ms);
  expect(seat.owner == "ann" && test.result(ann) == "booked", "after 300 ms it is hers");
  expect(bank.calls().at(0).get<0>() == "ann", "the bank was asked about ann");

  Seat second;
  auto bob = test.spawn(book_or_give_up, std::ref(second), std::ref(charge), "bob");
  test.step_until_idle();
  expect(test.task_state(bob) == TaskState::failed, "bob's card does not exist");
  bob.waitable().mark_observed();

  auto eve = test.spawn(book_or_give_up, std::ref(second), std::ref(charge), "eve");
  expect(test.result(eve) == "the bank does not answer", "eve gives up");
  expect(test.now() == 2300ms, "after two seconds, which took no time");
  expect(second.owner.empty() && test.scheduler().live_tasks() == 0, "and nothing is left behind");
}

// ---- In many orders

Task<bool> pay(std::string) {
  co_await yield();  // stands for the way to the bank and back
  co_return true;
}

Task<bool> browse_and_book(Seat& seat, const Charge& charge, std::string who) {
  for (int page = 0; page < 3; ++page) co_await yield();
  co_return co_await book(seat, charge, who);
}

Task<void> two_customers() {
  Seat seat;
  const Charge charge = pay;
  auto ann = spawn(book, std::ref(seat), std::ref(charge), "ann").named("ann");
  auto bob = spawn(browse_and_book, std::ref(seat), std::ref(charge), "bob").named("bob");
  const auto booked = co_await gather(ann, bob);
  check(booked.get<0>() != booked.get<1>(), "one seat was sold twice, or not at all");
}

// ---- Repaired: the seat is taken before anything is awaited, and given back if the bank refuses

Task<bool> book_safely(Seat& seat, const Charge& charge, std::string who) {
  if (!seat.owner.empty()) co_return false;
  seat.owner = who;
  const bool paid = co_await charge(who);
  if (!paid) seat.owner.clear();
  co_return paid;
}

Task<bool> browse_and_book_safely(Seat& seat, const Charge& charge, std::string who) {
  for (int page = 0; page < 3; ++page) co_await yield();
  co_return co_await book_safely(seat, charge, who);
}

Task<void> two_customers_repaired() {
  Seat seat;
  const Charge charge = pay;
  auto ann = spawn(book_safely, std::ref(seat), std::ref(charge), "ann").named("ann");
  auto bob = spawn(browse_and_book_safely, std::ref(seat), std::ref(charge), "bob").named("bob");
  const auto booked = co_await gather(ann, bob);
  check(booked.get<0>() != booked.get<1>(), "one seat was sold twice, or not at all");
}

void in_many_orders() {
  const Exploration result = explore(two_customers, Seeds(1000));
  std::printf("%s\n", result.error.c_str());
  for (const std::string& line : result.order) std::printf("  %s\n", line.c_str());
  std::printf("  to repeat it: TIFFANY_REPLAY=%s\n", text_of(result.deviations).c_str());

  const Exploration repaired = explore(two_customers_repaired, Seeds(1000));
  std::printf("%s", repaired.text().c_str());

  const Determinism twice = check_deterministic(two_customers);
  std::printf("%s\n", twice ? "Two runs of one order are the same." : twice.text.c_str());
}

}  // namespace

int main() {
  std::printf("By hand\n");
  by_hand();
  std::printf("In many orders\n");
  in_many_orders();
  return 0;
}
