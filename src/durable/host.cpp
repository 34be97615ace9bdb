#include <utility>

#include "durable/host_core.hpp"

namespace tiffany {
namespace {

// What somebody has asked of a host may outlive the host.
template <class T>
Task<T> kept(std::shared_ptr<HostCore> core, Task<T> call) {
  (void)core;
  co_return co_await std::move(call);
}

}  // namespace

Host::Host(const Registry& types, wal::LogOptions log, HostOptions options)
    : core_(std::make_shared<HostCore>(types, std::move(log), options)) {}
Host::~Host() { core_->abandon(); }

Task<Recovery> Host::open() { return kept(core_, core_->opening.open()); }
Task<void> Host::close() { return kept(core_, core_->close()); }
Task<Uuid> Host::start_json(std::string type, std::string arguments, Uuid id) {
  return kept(core_, core_->starts.start(std::move(type), std::move(arguments), id, false));
}
Task<Uuid> Host::start_new(std::string type, std::string arguments) {
  return kept(core_, core_->starts.start(std::move(type), std::move(arguments), new_id(), true));
}
Uuid Host::new_id() { return core_->new_id(); }
Task<std::string> Host::result_json(Uuid id) { return kept(core_, core_->results.wait(id)); }
Task<void> Host::signal_json(Uuid task, std::string name, std::string value) {
  return kept(core_, core_->messages.signal(task, std::move(name), std::move(value)));
}
Task<bool> Host::complete_json(Uuid promise, std::string value, bool success) {
  return kept(core_, core_->promises.complete(promise, std::move(value), success));
}
Task<void> Host::cancel(Uuid task, std::string why) {
  return kept(core_, core_->messages.cancel(task, std::move(why)));
}
Task<void> Host::kill(Uuid task, std::string why) {
  return kept(core_, core_->lifecycle.kill(task, std::move(why)));
}
Task<void> Host::pause(Uuid task) { return kept(core_, core_->lifecycle.pause(task)); }
Task<void> Host::resume(Uuid task) { return kept(core_, core_->lifecycle.resume(task)); }
Task<void> Host::retry(Uuid task, std::string from) {
  return kept(core_, core_->lifecycle.retry(task, std::move(from)));
}
Task<Uuid> Host::fork(Uuid task, std::string from) {
  return kept(core_, core_->lifecycle.fork(task, std::move(from)));
}
Task<Compaction> Host::compact(Retention keep) {
  return kept(core_, core_->compactor.compact(keep));
}
std::string Host::query(Uuid task, std::string_view name) {
  return core_->messages.query(task, name);
}
std::optional<DurableInfo> Host::info(Uuid task) const { return core_->results.info(task); }
std::vector<DurableInfo> Host::tasks() const { return core_->results.list(); }
wal::RecordStore& Host::store() { return *core_->store; }

}  // namespace tiffany
