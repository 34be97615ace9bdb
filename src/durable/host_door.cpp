#include <utility>

#include "durable/host_core.hpp"

namespace tiffany {

Host::Host(const Registry& types, wal::LogOptions log, HostOptions options)
    : core_(std::make_shared<HostCore>(types, std::move(log), options)) {}
Host::~Host() { core_->abandon(); }

Task<Recovery> Host::open() { return core_->open(); }
Task<void> Host::close() { return core_->close(); }
Task<Uuid> Host::start_task(std::string type, std::string arguments, Uuid id) {
  return core_->start_task(std::move(type), std::move(arguments), id);
}
Uuid Host::new_id() { return core_->new_id(); }
Task<std::string> Host::result_json(Uuid id) { return core_->result_json(id); }
Task<void> Host::signal_json(Uuid task, std::string name, std::string value) {
  return core_->signal_json(task, std::move(name), std::move(value));
}
Task<bool> Host::complete_json(Uuid promise, std::string value, bool success) {
  return core_->complete_json(promise, std::move(value), success);
}
Task<void> Host::cancel(Uuid task, std::string why) { return core_->cancel(task, std::move(why)); }
Task<void> Host::kill(Uuid task, std::string why) { return core_->kill(task, std::move(why)); }
Task<void> Host::pause(Uuid task) { return core_->pause(task); }
Task<void> Host::resume(Uuid task) { return core_->resume(task); }
Task<void> Host::retry(Uuid task, std::string from) { return core_->retry(task, std::move(from)); }
Task<Compaction> Host::compact(Retention keep) { return core_->compact(keep); }
std::string Host::query(Uuid task, std::string_view name) { return core_->query(task, name); }
std::optional<DurableInfo> Host::info(Uuid task) const { return core_->info(task); }
std::vector<DurableInfo> Host::tasks() const { return core_->tasks(); }
wal::Log& Host::log() { return core_->log(); }

}  // namespace tiffany
