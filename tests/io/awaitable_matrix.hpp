// The parts of the matrix of awaitables (awaitable_matrix_test.cpp): what a cell has to work with,
// the combinators, and how rows are made of kinds of awaitables. The kinds are in several files, so
// that each of them compiles in seconds.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/reactors.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany::matrix {

using namespace std::chrono_literals;

// What a kind keeps in the stage beyond what most of them use.
class Extra {
 public:
  Extra() = default;
  virtual ~Extra() = default;
  Extra(const Extra&) = delete;
  Extra& operator=(const Extra&) = delete;
};

struct Stage {
  Stage() : sender(box.sender()) {}

  // The one extra of this cell, made when it is asked for first.
  template <class E>
  E& extra() {
    if (!extra_) extra_ = std::make_unique<E>();
    return static_cast<E&>(*extra_);
  }

  Channel<int> values = channel<int>(1);
  Channel<int> full = channel<int>(0);
  Mailbox<int> box{4};
  MailSender<int> sender;
  ManualResetEvent event;
  Mutex mutex;
  std::optional<Mutex::Guard> held = mutex.try_lock();
  Promise<int> promise;
  Promise<int> never;
  Handle<int> handle;
  Pipe pipe = make_pipe();
  std::array<char, 8> room{};

 private:
  std::unique_ptr<Extra> extra_;
};

inline Task<int> wait_for(Future<int> future) { co_return co_await future; }

// ---- The combinators ----

struct Alone {
  static constexpr const char* name = "alone";
  template <class A>
  static auto around(Stage&, A&& a) {
    return detail::carry<std::remove_cvref_t<A>>(std::forward<A>(a));
  }
};
struct InWithin {
  static constexpr const char* name = "within";
  template <class A>
  static auto around(Stage&, A&& a) {
    return within(1h, std::forward<A>(a));
  }
};
struct InRace {
  static constexpr const char* name = "race";
  template <class A>
  static auto around(Stage& stage, A&& a) {
    return race(stage.never.future(), std::forward<A>(a));
  }
};
struct InRaceWithTask {
  static constexpr const char* name = "race with a task";
  template <class A>
  static auto around(Stage& stage, A&& a) {
    return race(std::forward<A>(a), wait_for(stage.never.future()));
  }
};
struct InAny {
  static constexpr const char* name = "any";
  template <class A>
  static auto around(Stage& stage, A&& a) {
    return any(stage.never.future(), std::forward<A>(a));
  }
};
struct InGather {
  static constexpr const char* name = "gather";
  template <class A>
  static auto around(Stage&, A&& a) {
    return gather(yield(), std::forward<A>(a));
  }
};
struct InAllSettled {
  static constexpr const char* name = "all_settled";
  template <class A>
  static auto around(Stage&, A&& a) {
    return all_settled(std::forward<A>(a), sleep(0ms));
  }
};
struct InShield {
  static constexpr const char* name = "shield";
  template <class A>
  static auto around(Stage&, A&& a) {
    return shield(std::forward<A>(a));
  }
};

// ---- The table ----

struct Cell {
  std::string name;
  bool shielded;
  // With the combinator around the awaitable.
  Task<void> (*in_coroutine)(const Cell&, Stage&);
  void (*in_fiber)(const Cell&, Stage&);
  // The awaitable by itself, and what it waits for.
  Task<void> (*plain)(Stage&);
  Task<void> (*fulfil)(Stage&);
};
using Cells = std::vector<Cell>;

template <class Kind, class Combinator>
Task<void> in_coroutine(const Cell&, Stage& stage) {
  static_cast<void>(co_await Combinator::around(stage, Kind::make(stage)));
}
template <class Kind, class Combinator>
void in_fiber(const Cell&, Stage& stage) {
  static_cast<void>(await(Combinator::around(stage, Kind::make(stage))));
}
template <class Kind>
Task<void> plain(Stage& stage) {
  static_cast<void>(co_await Kind::make(stage));
}

template <class Kind, class... Combinators>
void add_cells(Cells& cells) {
  (cells.push_back(Cell{std::string(Combinators::name) + " of " + Kind::name,
                        std::is_same_v<Combinators, InShield>, &in_coroutine<Kind, Combinators>,
                        &in_fiber<Kind, Combinators>, &plain<Kind>, &Kind::fulfil}),
   ...);
}
// Each combinator is given the awaitable itself: a call is passed on as a call.
template <class... Kinds>
void add_rows(Cells& cells) {
  (add_cells<Kinds, Alone, InWithin, InRace, InRaceWithTask, InAny, InGather, InAllSettled,
             InShield>(cells),
   ...);
}

// For kinds that are Tasks: the combinators are compiled once for Task<void>, and not for each
// result.
struct RowOfTask {
  const char* name;
  Task<void> (*plain)(Stage&);
  Task<void> (*fulfil)(Stage&);
};
void add_task_row(Cells& cells, const RowOfTask& row);
// Without `alone` and `race`.
void add_rest_of_row(Cells& cells, const RowOfTask& row);

template <class... Kinds>
void add_task_rows(Cells& cells) {
  (add_task_row(cells, RowOfTask{Kinds::name, &plain<Kinds>, &Kinds::fulfil}), ...);
}
// For calls that go the same way through the combinators as a call of the full rows. Alone and in a
// race (which parks the calls of module sync without a task of their own) the call itself is given,
// to the other combinators a Task that awaits it. That they take the call, too, is what the concept
// says.
template <class... Kinds>
void add_short_rows(Cells& cells) {
  static_assert((Awaitable<decltype(Kinds::make(std::declval<Stage&>()))> && ...));
  (add_cells<Kinds, Alone, InRace>(cells), ...);
  (add_rest_of_row(cells, RowOfTask{Kinds::name, &plain<Kinds>, &Kinds::fulfil}), ...);
}

// In the files beside.
void add_core_rows(Cells& cells);
void add_io_rows(Cells& cells);
void add_sync_rows(Cells& cells);
void add_rows_of_tasks(Cells& cells);

}  // namespace tiffany::matrix
