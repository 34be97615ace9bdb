// A stand-in for an asynchronous function, with a script of what it answers and when.
//
//   Mock<std::string(int)> fetch("fetch");
//   fetch.returns("page one").after(5ms);         // the first call, after 5 ms of virtual time
//   fetch.throws(std::runtime_error("gone"));     // the second
//   fetch.hangs();                                // the third: never, until it is cancelled
//   fetch.when([](int page) { return page == 7; }).returns("seven");   // every call for page 7
//
//   auto reader = test.spawn(read_pages, std::ref(fetch));    // calls co_await fetch(1), ...
//   EXPECT_EQ(fetch.calls().at(0).get<0>(), 1);
//
// A call counts when it is awaited. Rules made with when() are asked first, in the order they were
// written, and answer any number of calls (or as many as times() says); the other answers are given
// out one by one. A call that nothing answers fails with Errc::no_answer.
//
// The mock must outlive the calls. It is not thread-safe, as the tasks that call it are not.
// Cancel. Before start: the call is counted, and throws where it would have waited. While parked in
// a delay or for ever: the wait ends. After completion: as for every call of a coroutine.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/base/outcome.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany::test {

namespace detail {

// What a mock that hangs waits for. It is not the outside: if nothing else can end the wait, that
// is the deadlock the test wants to see.
class Forever final : public SystemCall {
 public:
  static constexpr CallName call_name{"mock_hangs"};
  explicit Forever(const std::string& mock) noexcept : mock_(mock) {}
  Answer start(Scheduler&, TaskRecord&) noexcept { return Answer::parked; }
  void withdraw(TaskRecord&) noexcept override {}
  void finish() noexcept {}
  std::string describe() const override;

 private:
  const std::string& mock_;
};

[[noreturn]] void throw_no_answer(const std::string& mock, std::size_t call, std::size_t scripted);

}  // namespace detail

// One answer of a mock. Scripted through the functions of Mock, which return it for after().
template <class R>
class MockAnswer {
 public:
  // So long after the call, on the scheduler's clock. Default: at once, without suspending.
  MockAnswer& after(Duration delay) {
    delay_ = delay;
    return *this;
  }

 private:
  template <class Signature>
  friend class Mock;
  enum class Kind : std::uint8_t { value, error, never };

  Kind kind_ = Kind::never;
  std::optional<Duration> delay_;
  std::optional<ValueOf<R>> value_;
  std::exception_ptr error_;
};

template <class Signature>
class Mock;

template <class R, class... Args>
class Mock<R(Args...)> {
 public:
  static_assert((std::is_copy_constructible_v<std::decay_t<Args>> && ...),
                "a mock keeps the arguments of its calls, so they must be copyable");

  // A call that was made: its arguments, when, and by which task.
  struct Call {
    std::tuple<std::decay_t<Args>...> arguments;
    Time time;
    TaskId task;
    template <std::size_t kIndex>
    const auto& get() const {
      return std::get<kIndex>(arguments);
    }
  };

  explicit Mock(std::string name = "a mock") : name_(std::move(name)) {}
  Mock(const Mock&) = delete;
  Mock& operator=(const Mock&) = delete;

  // ---- The script ----

  MockAnswer<R>& returns(ValueOf<R> value) {
    return set_value(script_.emplace_back(), std::move(value));
  }
  MockAnswer<R>& returns()
    requires std::is_void_v<R>
  {
    return returns(Unit());
  }
  template <class E>
  MockAnswer<R>& throws(E error) {
    return set_error(script_.emplace_back(), std::make_exception_ptr(std::move(error)));
  }
  MockAnswer<R>& hangs() { return script_.emplace_back(); }

  // An answer for the calls whose arguments a function accepts.
  class Rule {
   public:
    // Default: any number of times.
    Rule& times(std::size_t count) {
      left_ = count;
      return *this;
    }
    MockAnswer<R>& returns(ValueOf<R> value) { return set_value(answer_, std::move(value)); }
    MockAnswer<R>& returns()
      requires std::is_void_v<R>
    {
      return returns(Unit());
    }
    template <class E>
    MockAnswer<R>& throws(E error) {
      return set_error(answer_, std::make_exception_ptr(std::move(error)));
    }
    MockAnswer<R>& hangs() { return answer_; }

   private:
    friend class Mock;
    std::function<bool(const std::decay_t<Args>&...)> accepts_;
    std::size_t left_ = std::numeric_limits<std::size_t>::max();
    MockAnswer<R> answer_;
  };
  // Hangs until it is told what to answer.
  template <class F>
  Rule& when(F accepts) {
    Rule& rule = rules_.emplace_back();
    rule.accepts_ = std::move(accepts);
    return rule;
  }
  Rule& always() {
    return when([](const std::decay_t<Args>&...) { return true; });
  }

  // ---- The function ----

  Task<R> operator()(Args... args) {
    return play(std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...));
  }

  // ---- The record ----

  const std::vector<Call>& calls() const noexcept { return calls_; }
  // How many of the answers that are given one by one nobody has asked for.
  std::size_t unused() const noexcept { return script_.size() - next_; }
  const std::string& name() const noexcept { return name_; }

 private:
  static MockAnswer<R>& set_value(MockAnswer<R>& answer, ValueOf<R> value) {
    answer.kind_ = MockAnswer<R>::Kind::value;
    answer.value_.emplace(std::move(value));
    return answer;
  }
  static MockAnswer<R>& set_error(MockAnswer<R>& answer, std::exception_ptr error) {
    answer.kind_ = MockAnswer<R>::Kind::error;
    answer.error_ = std::move(error);
    return answer;
  }

  MockAnswer<R>& answer_for(const std::tuple<std::decay_t<Args>...>& arguments) {
    for (Rule& rule : rules_) {
      if (rule.left_ == 0 || !std::apply(rule.accepts_, arguments)) continue;
      --rule.left_;
      return rule.answer_;
    }
    if (next_ == script_.size()) detail::throw_no_answer(name_, calls_.size(), script_.size());
    return script_[next_++];
  }

  Task<R> play(std::tuple<std::decay_t<Args>...> arguments) {
    calls_.push_back(Call{arguments, tiffany::now(), this_task::id()});
    // In a deque, where it stays while the call waits, whatever is scripted meanwhile.
    const MockAnswer<R>& answer = answer_for(arguments);
    if (answer.delay_) co_await sleep(*answer.delay_);
    if (answer.kind_ == MockAnswer<R>::Kind::never) co_await detail::Forever(name_);
    if (answer.kind_ == MockAnswer<R>::Kind::error) std::rethrow_exception(answer.error_);
    if constexpr (!std::is_void_v<R>) co_return *answer.value_;
  }

  std::string name_;
  std::deque<MockAnswer<R>> script_;
  std::size_t next_ = 0;
  std::deque<Rule> rules_;
  std::vector<Call> calls_;
};

}  // namespace tiffany::test
