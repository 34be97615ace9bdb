// Rows of the matrix of awaitables: calls of the core, handles, futures and Tasks.
#include "io/awaitable_matrix.hpp"

namespace tiffany::matrix {
namespace awaitable_matrix_core_test {

struct OfSleep {
  static constexpr const char* name = "sleep";
  static auto make(Stage&) { return sleep(3ms); }
  static Task<void> fulfil(Stage&) { co_return; }
};
struct OfMailbox {
  static constexpr const char* name = "mailbox";
  static auto make(Stage& stage) { return stage.box.next(); }
  static Task<void> fulfil(Stage& stage) {
    EXPECT_EQ(stage.sender.post(1), Posted::accepted);
    co_return;
  }
};
struct OfFuture {
  static constexpr const char* name = "future";
  static auto make(Stage& stage) { return stage.promise.future(); }
  static Task<void> fulfil(Stage& stage) {
    stage.promise.complete(1);
    co_return;
  }
};
struct OfHandle {
  static constexpr const char* name = "handle";
  static auto make(Stage& stage) {
    if (!stage.handle) stage.handle = spawn(wait_for, stage.promise.future());
    return stage.handle;
  }
  static Task<void> fulfil(Stage& stage) { return OfFuture::fulfil(stage); }
};
struct OfTask {
  static constexpr const char* name = "task";
  static auto make(Stage& stage) { return wait_for(stage.promise.future()); }
  static Task<void> fulfil(Stage& stage) { return OfFuture::fulfil(stage); }
};

}  // namespace awaitable_matrix_core_test
using namespace awaitable_matrix_core_test;

void add_core_rows(Cells& cells) {
  add_rows<OfSleep, OfMailbox, OfFuture, OfHandle, OfTask>(cells);
}

}  // namespace tiffany::matrix
