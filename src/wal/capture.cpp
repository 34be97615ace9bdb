// A log that is only looked at: what is appended is kept in memory, and nobody is ever told that it
// was synced.
#include <utility>

#include "tiffany/wal/log.hpp"

namespace tiffany::wal {
namespace {

class Capture final : public Log {
 public:
  Capture(Scheduler& scheduler, LogOptions options) : Log(scheduler, std::move(options)) {}

 private:
  Task<void> begin(const LogIndex&) override { co_return; }
  Task<void> end() override { co_return; }
  Task<void> forget(std::vector<Uuid>) override { co_return; }
  const Batch* unwritten(const TaskLog&, const Position&) const noexcept override {
    return nullptr;
  }
  Batch& batch_for(TaskLog&, std::size_t) override {
    batch_.bytes.clear();
    return batch_;
  }
  std::uint32_t seed_of(const Batch&) const noexcept override { return 0; }
  Task<void> write_some() override { co_return; }
  Batch* last_batch() noexcept override { return nullptr; }
  TicketList take_tickets() noexcept override { return TicketList(); }

  Batch batch_;
};

}  // namespace

std::shared_ptr<Log> make_capture(Scheduler& scheduler, LogOptions options) {
  return std::make_shared<Capture>(scheduler, std::move(options));
}

}  // namespace tiffany::wal
