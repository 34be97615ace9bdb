// Rows of the matrix of awaitables: combinators inside of combinators, and what a Task does.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "io/awaitable_matrix.hpp"
#include "tiffany/io/directory.hpp"
#include "tiffany/io/file_watch.hpp"
#include "tiffany/io/process.hpp"
#include "tiffany/io/send_file.hpp"
#include "tiffany/io/terminal.hpp"
#include "tiffany/structure/finally.hpp"

namespace tiffany::matrix {
namespace awaitable_matrix_tasks_test {

Task<void> complete(Stage& stage) {
  stage.promise.complete(1);
  co_return;
}

struct OfGather {
  static constexpr const char* name = "gather";
  static auto make(Stage& stage) { return gather(stage.promise.future(), stage.promise.future()); }
  static Task<void> fulfil(Stage& stage) { return complete(stage); }
};
struct OfRace {
  static constexpr const char* name = "race";
  static auto make(Stage& stage) {
    return race(stage.never.future(), stage.values.receiver.recv());
  }
  static Task<void> fulfil(Stage& stage) { co_await stage.values.sender.send(1); }
};

// ---- Tasks ----

struct OfWithin {
  static constexpr const char* name = "within";
  static auto make(Stage& stage) { return within(1h, stage.pipe.read_end.read(stage.room)); }
  static Task<void> fulfil(Stage& stage) { co_await stage.pipe.write_end.write("x"); }
};
struct OfFinally {
  static constexpr const char* name = "finally";
  static auto make(Stage& stage) {
    return finally([&stage]() -> Task<int> { co_return co_await stage.promise.future(); },
                   []() -> Task<void> { co_await yield(); });
  }
  static Task<void> fulfil(Stage& stage) { return complete(stage); }
};
struct OfDirectoryWalk {
  static constexpr const char* name = "directory walk";
  struct Walked : Extra {
    Walked() {
      for (const char* entry : {"a", "b", "c"}) std::ofstream(directory / entry) << "x";
    }
    TemporaryDirectory directory;
    DirectoryWalk walk{directory.path()};
  };
  static auto make(Stage& stage) { return stage.extra<Walked>().walk.next(); }
  static Task<void> fulfil(Stage&) { co_return; }
};
struct OfFileWatch {
  static constexpr const char* name = "file watch";
  struct Watched : Extra {
    Watched() { watch.add(directory.path()); }
    TemporaryDirectory directory;
    FileWatch watch;
  };
  static auto make(Stage& stage) { return stage.extra<Watched>().watch.next(); }
  static Task<void> fulfil(Stage& stage) {
    std::ofstream(stage.extra<Watched>().directory / "new") << "x";
    co_return;
  }
};
struct OfTerminal {
  static constexpr const char* name = "terminal read";
  struct Opened : Extra {
    Terminal terminal;
    Descriptor program{::open(ptsname(terminal.descriptor().fd()), O_RDWR | O_NOCTTY | O_CLOEXEC)};
  };
  static auto make(Stage& stage) { return stage.extra<Opened>().terminal.read(stage.room); }
  static Task<void> fulfil(Stage& stage) {
    EXPECT_EQ(::write(stage.extra<Opened>().program.fd(), "x", 1), 1);
    co_return;
  }
};
struct OfSendFile {
  static constexpr const char* name = "send_file";
  struct Full : Extra {  // the socket takes nothing more until its other end is read
    Full() {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      to = Socket(Descriptor(ends[0]));
      peer = Socket(Descriptor(ends[1]));
      std::ofstream(directory / "file") << "text";
      file = File(Descriptor(::open((directory / "file").c_str(), O_RDONLY | O_CLOEXEC)));
      const std::string piece(4096, '.');
      for (;;) {
        const ssize_t went = ::send(ends[0], piece.data(), piece.size(), MSG_DONTWAIT);
        if (went <= 0) return;
        filled += static_cast<std::size_t>(went);
      }
    }
    TemporaryDirectory directory;
    Socket to;
    Socket peer;
    File file;
    std::size_t filled = 0;
  };
  static auto make(Stage& stage) {
    auto& its = stage.extra<Full>();
    return send_file(its.to, its.file, 0, 4);
  }
  static Task<void> fulfil(Stage& stage) {
    auto& its = stage.extra<Full>();
    std::string room(65536, '\0');
    while (its.filled > 0) {
      const std::size_t came = co_await its.peer.read(room);
      its.filled -= std::min(its.filled, came);
    }
  }
};
struct OfProcess {
  static constexpr const char* name = "process";
  struct Started : Extra {  // until its input ends
    Process cat{Command("cat").pipe_input().pipe_output()};
  };
  static auto make(Stage& stage) { return stage.extra<Started>().cat.wait(); }
  static Task<void> fulfil(Stage& stage) {
    stage.extra<Started>().cat.input().close();
    co_return;
  }
};

// The Task<void> that a row has, through a combinator.
template <class Combinator>
Task<void> task_in_coroutine(const Cell& cell, Stage& stage) {
  static_cast<void>(co_await Combinator::around(stage, cell.plain(stage)));
}
template <class Combinator>
void task_in_fiber(const Cell& cell, Stage& stage) {
  static_cast<void>(await(Combinator::around(stage, cell.plain(stage))));
}
template <class... Combinators>
void add_task_cells(Cells& cells, const RowOfTask& row) {
  (cells.push_back(Cell{std::string(Combinators::name) + " of " + row.name,
                        std::is_same_v<Combinators, InShield>, &task_in_coroutine<Combinators>,
                        &task_in_fiber<Combinators>, row.plain, row.fulfil}),
   ...);
}

}  // namespace awaitable_matrix_tasks_test
using namespace awaitable_matrix_tasks_test;

void add_rest_of_row(Cells& cells, const RowOfTask& row) {
  add_task_cells<InWithin, InRaceWithTask, InAny, InGather, InAllSettled, InShield>(cells, row);
}
void add_task_row(Cells& cells, const RowOfTask& row) {
  add_task_cells<Alone, InRace>(cells, row);
  add_rest_of_row(cells, row);
}

void add_rows_of_tasks(Cells& cells) {
  add_rows<OfGather>(cells);
  add_short_rows<OfRace>(cells);
  add_task_rows<OfWithin, OfFinally, OfDirectoryWalk, OfFileWatch, OfTerminal, OfSendFile,
                OfProcess>(cells);
}

}  // namespace tiffany::matrix
