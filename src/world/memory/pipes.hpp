// Pipes in memory. Internal.
#pragma once

#include <memory>

#include "world/memory/state.hpp"

namespace tiffany::world::memory {

class PipeEnd final : public Object {
 public:
  struct Shared {
    Buffer bytes;
    PipeEnd* reader = nullptr;  // null: it is closed
    PipeEnd* writer = nullptr;
  };
  PipeEnd(State& of, std::shared_ptr<Shared> shared, bool writes) noexcept
      : Object(of), shared_(std::move(shared)), writes_(writes) {
    (writes ? shared_->writer : shared_->reader) = this;
  }
  int attempt(Operation& op) override;
  int ready() const noexcept override;
  void closed() override;

 private:
  std::shared_ptr<Shared> shared_;
  bool writes_;
};

void make_pipe(State& state, int (&ends)[2]);

}  // namespace tiffany::world::memory
