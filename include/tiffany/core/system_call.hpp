// A system call: everything that a task can suspend on, as one small object.
//
// The object lives in the frame of the code that awaits it. The scheduler knows nothing of what it
// does. To add one of your own, derive from SystemCall and give it:
//
//   static constexpr CallName call_name{"my_call"};        // shows in reports and in the trace
//   Answer start(Scheduler& scheduler, TaskRecord& task);  // answer at once, or register and park
//   void withdraw(TaskRecord& task) noexcept override;     // the task was cancelled: unregister
//   R finish();                                            // the value of the co_await expression
//
// `start` returns Answer::now when `finish` can be called at once, and Answer::parked after it has
// stored itself and `&task` somewhere from where its own `wake(scheduler, task)` will be called
// exactly once. Nobody else can wake the task: what the call has registered would be left behind.
// Between a wake and the resume the result has arrived: a cancel that comes then does not call
// `withdraw`, and the task gets its result first.
//
// A call may be moved until it has begun; combinators (race, within, gather, ...) rely on that. So
// what points into the object is set in `start`, not in the constructor.
//
// A call that is made in the innermost loops may also have `bool answer_inline() noexcept`: true
// when `finish` can be called, which then follows at once, with nothing in between. Otherwise, and
// when the task's quantum is spent, `start` is called as for every other.
//
// docs/07-system-calls.md explains an example; tests/core/system_call_test.cpp has others.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <typeinfo>

#include "tiffany/base/hash.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/core/wait_kind.hpp"

namespace tiffany {

class Scheduler;
class TaskRecord;
class Waitable;
struct Waiter;

enum class Answer : std::uint8_t {
  now,     // the result is there; go on without suspending (unless the quantum is spent)
  parked,  // wake() will come
};

// The name of a kind of call, with its hash for the trace computed at compile time.
struct CallName {
  constexpr explicit CallName(std::string_view text) noexcept : name(text), hash(hash_name(text)) {}
  std::string_view name;
  std::uint64_t hash;
};

// What a parked call waits for, as the deadlock report and dumps see it.
class WaitVisitor {
 public:
  // A task or promise that is still pending.
  virtual void on_waitable(const Waitable& waitable) = 0;

 protected:
  ~WaitVisitor() = default;
};

class SystemCall {
 public:
  SystemCall(const SystemCall&) = delete;
  SystemCall& operator=(const SystemCall&) = delete;

  // Undoes what `start` registered. Called at most once, only while parked.
  virtual void withdraw(TaskRecord& task) noexcept = 0;

  // The task was cancelled while parked. True: the call has been withdrawn, and the task leaves it
  // at once. False: somebody else still works for it (a kernel, with its memory). Then the task
  // stays parked until `wake` comes, and `finish` gives the result or calls
  // Scheduler::throw_cancelled().
  virtual bool take_back(TaskRecord& task) noexcept {
    withdraw(task);
    return true;
  }

  // What one of the waiters of this call was registered for has come: a waitable has settled, a
  // primitive of module sync has handed something over. The waiter is in no list any more. Only for
  // calls that use Waiter.
  virtual void on_settled(Scheduler& scheduler, Waiter& waiter) noexcept;

  // For reports: what is waited for, in words, and the waitables themselves.
  virtual std::string describe() const = 0;
  virtual void visit_waits(WaitVisitor& visitor) const;

  // True when the wait is over only when everything that visit_waits names has ended or has let go;
  // an error and a cancel aside. Tasks that wait for one another in this way wait in a circle,
  // which is reported (Options::circles). Asked once by its own type when a task parks, so it must
  // be cheap.
  virtual bool needs_all() const noexcept { return false; }

  // True when only something outside of the scheduler can end the wait (a raw descriptor, a foreign
  // callback); such a wait is never a deadlock.
  virtual bool waits_for_outside() const noexcept { return false; }

  // True when the wait is for a point in time, and other tasks could not shorten it.
  virtual bool waits_for_time() const noexcept { return false; }

  // Since when a task is parked on this call, to eight nanoseconds, and what for. Known only while
  // one is.
  Time since() const noexcept { return Time(Duration(since_ & ~kKindBits)); }
  WaitKind parked_for() const noexcept { return static_cast<WaitKind>(since_ & kKindBits); }

 protected:
  SystemCall() noexcept = default;
  // A call may be moved until it has begun: `start` is where pointers into the call itself are
  // made.
  SystemCall(SystemCall&&) noexcept {}
  ~SystemCall() = default;

  // The task that is parked on this call goes on. One that is not (any more) is left alone. The
  // call has undone by then what `start` registered.
  void wake(Scheduler& scheduler, TaskRecord& task) const noexcept;
  // The same where the scheduler is not at hand.
  void wake(TaskRecord& task) const noexcept;

 private:
  friend class Scheduler;
  friend struct DebugLayout;
  // Set by a call that parks; most are answered at once. The lowest bits are the WaitKind: a word
  // of its own would be sixteen bytes in the frame of every suspended task.
  Duration::rep since_;
  static constexpr Duration::rep kKindBits = 7;
  static_assert(kWaitKinds <= kKindBits + 1);
};

// A call that registers nothing and never stays parked: it is answered at once, or a cancel is
// thrown.
class InstantCall : public SystemCall {
 public:
  void withdraw(TaskRecord&) noexcept final {}
  std::string describe() const final { return {}; }

 protected:
  InstantCall() noexcept = default;
  InstantCall(InstantCall&&) noexcept = default;
  ~InstantCall() = default;
};

// Calls of one name have one number, by which schedulers count them. From 1 on, in the order in
// which names came; 0 is for calls that came when all numbers were taken. Thread safe.
using CallNumber = std::uint8_t;
inline constexpr std::size_t kCallNumbers = 256;
CallNumber number_of(const CallName& name) noexcept;  // `name` stays where it is
// Null when no call has that number.
const CallName* call_with_number(CallNumber number) noexcept;

// A call that is a plain function and never suspends (get, put, tell): an object with static
// storage, made before main().
class PlainCall {
 public:
  explicit PlainCall(std::string_view name) noexcept : name_(name), number_(number_of(name_)) {}
  PlainCall(const PlainCall&) = delete;
  PlainCall& operator=(const PlainCall&) = delete;
  const CallName& name() const noexcept { return name_; }
  CallNumber number() const noexcept { return number_; }

 private:
  CallName name_;
  CallNumber number_;
};

// The name of a kind of call, found by the type of the object. Calls do not carry their names:
// eight bytes more in each of them is sixteen more in the frame of a suspended task. Every type of
// call that a program can make is entered here before main().
class CallKind {
 public:
  CallKind(const std::type_info& type, const CallName& name) noexcept;
  CallKind(const CallKind&) = delete;
  CallKind& operator=(const CallKind&) = delete;

  static const CallKind* first() noexcept;
  const CallKind* next() const noexcept { return next_; }
  const std::type_info& type() const noexcept { return *type_; }
  const CallName& name() const noexcept { return *name_; }
  CallNumber number() const noexcept { return number_; }

 private:
  friend struct DebugLayout;
  const std::type_info* type_;
  const CallName* name_;
  const CallKind* next_;
  CallNumber number_;
};

template <class C>
inline const CallKind call_kind{typeid(C), C::call_name};

template <class C>
concept Call =
    std::derived_from<C, SystemCall> && requires(C& call, Scheduler& scheduler, TaskRecord& task) {
      { C::call_name } -> std::convertible_to<const CallName&>;
      { call.start(scheduler, task) } -> std::same_as<Answer>;
      call.finish();
    };

template <class C>
concept AnswersInline = Call<C> && requires(C& call) {
  { call.answer_inline() } noexcept -> std::same_as<bool>;
};

}  // namespace tiffany
