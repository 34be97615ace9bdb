#include <memory>

#include "tiffany/tiffany.hpp"

tiffany::Task<void> child(std::unique_ptr<int>) { co_return; }

tiffany::Task<void> misuse() {
  using namespace tiffany;
  co_await supervise(Supervision(RestartStrategy::one_for_one), [&](Supervisor& s) {
    s.permanent("child", child, std::make_unique<int>(1));  // right: a std::shared_ptr
  });
}
