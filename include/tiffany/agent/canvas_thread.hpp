// A canvas that tasks use: its calls run on a thread of the pool, one at a time.
//
//   agent::CanvasThread canvas(agent::Canvas::open(path, "main"));
//   const auto read = [](agent::Canvas& it) { return it.read("README.md").bytes; };
//   std::string text = co_await canvas.use(read);
//
// Copies share the canvas.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "tiffany/agent/canvas.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/sync/mutex.hpp"

namespace tiffany::agent {

class CanvasThread {
 public:
  explicit CanvasThread(Canvas canvas) : shared_(std::make_shared<Shared>(std::move(canvas))) {}

  // Calls `f` with the canvas. What it returns or throws comes out of the await.
  //
  // Cancel. Before start: `f` is not called. While parked: `f` is not called when no thread has
  // begun it; a call that runs is waited for. After completion: the result wins, and the next
  // suspension throws.
  template <class F>
  Task<std::invoke_result_t<F, Canvas&>> use(F f) const {
    const std::shared_ptr<Shared> shared = shared_;
    const auto turn = co_await shared->one_at_a_time.lock();
    Canvas* const canvas = &shared->canvas;
    F* const call = &f;
    const auto run = [canvas, call] { return (*call)(*canvas); };
    co_return co_await offload_joined(run);
  }

 private:
  struct Shared {
    explicit Shared(Canvas made) : canvas(std::move(made)) {}
    Canvas canvas;
    Mutex one_at_a_time;
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace tiffany::agent
