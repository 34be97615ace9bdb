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
  return start_json(std::move(type), std::move(arguments), StartOptions().id(id));
}
Task<Uuid> Host::start_json(std::string type, std::string arguments, StartOptions options) {
  const Uuid id = options.data().id ? *options.data().id : new_id();
  return kept(core_,
              core_->starts.start(std::move(type), std::move(arguments), id, std::move(options)));
}
Task<Uuid> Host::start_typed(std::shared_ptr<HostCore> core, detail::AnyFunction function,
                             std::string_view what, std::string arguments, StartOptions options) {
  const DurableType& type = core->types.require(function, what);
  const Uuid id = options.data().id ? *options.data().id : core->new_id();
  co_return co_await core->starts.start(type.name, std::move(arguments), id, std::move(options));
}
void Host::require_type(const Uuid& id, detail::AnyFunction function, std::string_view what) {
  const DurableType& type = core_->types.require(function, what);
  const HostedTask* const task = core_->tasks.find(id);
  if (task == nullptr || !task->named || task->type_name() == type.name) return;
  throw Error(Errc::start_conflict, "Host::attach: task " + id.text() + " is one of type \"" +
                                        task->type_name() + "\", and not of \"" + type.name +
                                        "\".");
}
Uuid Host::new_id() { return core_->new_id(); }
Task<std::string> Host::result_json(Uuid id) { return kept(core_, core_->results.wait(id)); }
Task<void> Host::signal_json(Uuid task, std::string name, std::string value, Actor actor) {
  return kept(core_,
              core_->messages.signal(task, std::move(name), std::move(value), std::move(actor)));
}
Task<bool> Host::complete_json(Uuid promise, std::string value, bool success, Actor actor) {
  return kept(core_,
              core_->promises.complete(promise, std::move(value), success, std::move(actor)));
}
Task<void> Host::cancel(Uuid task, std::string why, Actor actor) {
  return kept(core_, core_->messages.cancel(task, std::move(why), std::move(actor)));
}
Task<void> Host::kill(Uuid task, std::string why, Actor actor) {
  return kept(core_, core_->lifecycle.kill(task, std::move(why), std::move(actor)));
}
Task<void> Host::pause(Uuid task, Actor actor) {
  return kept(core_, core_->lifecycle.pause(task, std::move(actor)));
}
Task<void> Host::resume(Uuid task, Actor actor) {
  return kept(core_, core_->lifecycle.resume(task, std::move(actor)));
}
Task<void> Host::retry(Uuid task, std::string from, Actor actor) {
  return kept(core_, core_->lifecycle.retry(task, std::move(from), std::move(actor)));
}
Task<Uuid> Host::fork(Uuid task, std::string from, Actor actor) {
  return kept(core_, core_->lifecycle.fork(task, std::move(from), std::move(actor)));
}
Task<Compaction> Host::compact(Retention keep) {
  return kept(core_, core_->compactor.compact(keep));
}
Task<wal::BackupReport> Host::backup(std::string directory) {
  return kept(core_, core_->compactor.backup(std::move(directory)));
}
Task<std::string> Host::ask_json(Uuid task, std::string name) {
  return kept(core_, core_->messages.ask(task, std::move(name)));
}
Task<std::string> Host::update_json(Uuid task, std::string name, std::string request, Uuid update) {
  return kept(core_, core_->messages.update(task, std::move(name), std::move(request), update));
}
std::string Host::query(Uuid task, std::string_view name) {
  return core_->messages.query(task, name);
}
std::optional<DurableInfo> Host::info(Uuid task) const { return core_->results.info(task); }
std::vector<DurableInfo> Host::tasks() const { return core_->results.list(); }
// ---- References ----

namespace {

std::shared_ptr<HostCore> host_of_ref(const std::weak_ptr<HostCore>& ref) {
  if (std::shared_ptr<HostCore> host = ref.lock()) return host;
  throw Error(Errc::durable_misuse,
              "This DurableRef is empty, or its host is gone: take one that Host::start or "
              "Host::attach of an open host gives.");
}
Task<void> cancel_of_ref(std::weak_ptr<HostCore> ref, Uuid id, std::string why) {
  const std::shared_ptr<HostCore> host = host_of_ref(ref);
  co_await host->messages.cancel(id, std::move(why));
}
Task<std::string> result_of_ref(std::weak_ptr<HostCore> ref, Uuid id) {
  const std::shared_ptr<HostCore> host = host_of_ref(ref);
  co_return co_await host->results.wait(id);
}
Task<void> signal_of_ref(std::weak_ptr<HostCore> ref, Uuid id, std::string name,
                         std::string value) {
  const std::shared_ptr<HostCore> host = host_of_ref(ref);
  co_await host->messages.signal(id, std::move(name), std::move(value));
}
Task<std::string> ask_of_ref(std::weak_ptr<HostCore> ref, Uuid id, std::string name) {
  const std::shared_ptr<HostCore> host = host_of_ref(ref);
  co_return co_await host->messages.ask(id, std::move(name));
}

Task<std::string> update_of_ref(std::weak_ptr<HostCore> ref, Uuid task, std::string name,
                                std::string request, Uuid update) {
  const std::shared_ptr<HostCore> host = host_of_ref(ref);
  co_return co_await host->messages.update(task, std::move(name), std::move(request), update);
}

}  // namespace

Task<std::string> AnyDurableRef::update_json(std::string name, std::string request,
                                             Uuid update) const {
  return update_of_ref(host_, id_, std::move(name), std::move(request), update);
}
Task<void> AnyDurableRef::cancel(std::string why) const {
  return cancel_of_ref(host_, id_, std::move(why));
}
std::optional<DurableInfo> AnyDurableRef::info() const {
  return host_of_ref(host_)->results.info(id_);
}
Task<std::string> AnyDurableRef::result_json() const { return result_of_ref(host_, id_); }
Task<void> AnyDurableRef::signal_json(std::string name, std::string value) const {
  return signal_of_ref(host_, id_, std::move(name), std::move(value));
}
Task<std::string> AnyDurableRef::ask_json(std::string name) const {
  return ask_of_ref(host_, id_, std::move(name));
}

TaskPage Host::tasks(const TaskFilter& filter, const PageOptions& page) const {
  return core_->search.find(filter, page);
}
wal::RecordStore& Host::store() { return *core_->store; }

}  // namespace tiffany
