#include "durable/updates.hpp"

#include <algorithm>
#include <utility>

#include "durable/excerpt.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "tiffany/core/cancel.hpp"

namespace tiffany {
namespace detail {

std::uint64_t UpdateHandlers::add(std::string name, UpdateHandler handler) {
  if (!had(name)) names_.push_back(name);
  all_.push_back(
      {std::move(name), ++last_, std::make_shared<const UpdateHandler>(std::move(handler))});
  return last_;
}
void UpdateHandlers::remove(std::uint64_t number) noexcept {
  std::erase_if(all_, [number](const Named& each) { return each.number == number; });
}
std::shared_ptr<const UpdateHandler> UpdateHandlers::find(std::string_view name) const noexcept {
  const auto found = std::find_if(all_.rbegin(), all_.rend(),
                                  [name](const Named& each) { return each.name == name; });
  return found == all_.rend() ? nullptr : found->handler;
}
bool UpdateHandlers::had(std::string_view name) const noexcept {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

FlowUpdate add_update(FlowState& flow, std::string name, UpdateHandler handler,
                      const std::source_location& site) {
  require_name(name, "The name of an update");
  handler.site = site;
  UpdateHandlers& all = *flow.updates().handlers;
  return FlowUpdate(flow.updates().handlers, all.add(std::move(name), std::move(handler)));
}

void KnownUpdate::synced(std::exception_ptr failed_with) noexcept {
  error = std::move(failed_with);
  on_disk = error == nullptr;
  settled.set();
  if (flow == nullptr) return;
  if (error != nullptr) return flow->broken(error);
  flow->host.eviction.waits(*flow);  // which was held up by this one
}

// ---- Those that have come ----

Updates::~Updates() {
  for (const auto& [id, update] : known_) {
    update->flow = nullptr;
    update->settled.set();  // the caller looks where the task is now
  }
}

UpdatePtr Updates::add(UpdatePtr update) {
  ++unanswered_;
  return known_.insert_or_assign(update->id, std::move(update)).first->second;
}

// Its record may still be on the way to the disk, and its caller may wait for that longer than the
// task is there. The id may have come again: that one stays.
void Updates::forget_oldest() {
  const UpdatePtr oldest = std::move(answered_.front());
  answered_.pop_front();
  oldest->flow = nullptr;
  const auto known = known_.find(oldest->id);
  if (known != known_.end() && known->second == oldest) known_.erase(known);
}

UpdatePtr Updates::find(const std::string& id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : found->second;
}

std::string Updates::hash_of_request(std::string_view name, std::string_view request) {
  return hash_of(std::string(name) + "\n" + std::string(request));
}

UpdatePtr Updates::made(std::string id, std::string name, std::string request) {
  auto update = std::make_shared<KnownUpdate>();
  update->id = std::move(id);
  update->hash = hash_of_request(name, request);
  update->name = std::move(name);
  update->request = std::move(request);
  return update;
}

UpdatePtr Updates::send(const std::string& id, const std::string& name,
                        const std::string& request) {
  auto mail = std::make_shared<TaskMail>();
  UpdatePtr update = made(id, name, request);
  records::Sent::write_update(flow_.host.payload, *flow_.host.store, name, id, request);
  Arrival arrival;
  arrival.kind = Arrival::Kind::update;
  arrival.id = id;
  arrival.time = flow_.host.store->clock().now();
  arrival.seq = flow_.append(wal::RecordType::Resumed, flow_.host.payload, nullptr, 0,
                             wal::Level::sync, mail.get());
  mail->flow = &flow_;
  arrival.mail = std::move(mail);
  arrival.update = update;
  flow_.arrivals.push(std::move(arrival));
  return add(std::move(update));
}

UpdatePtr Updates::loaded(const std::string& id, std::string name, const std::string& request) {
  return add(made(id, std::move(name), request));
}

void Updates::arrived(UpdatePtr update) { waiting_.push_back(std::move(update)); }

void Updates::clear() noexcept {
  known_.clear();
  waiting_.clear();
  answered_.clear();
  unanswered_ = 0;
}

// ---- Handlers ----

// In the order in which updates came. Those without a handler, and those of handlers that wait,
// stay.
void Updates::handle_all() {
  for (std::size_t i = 0; i < waiting_.size() && !flow_.comparison.stopped();) {
    const UpdatePtr update = waiting_[i];
    const std::shared_ptr<const UpdateHandler> handler = handlers->find(update->name);
    if (handler == nullptr || handler->begin) {
      ++i;
      continue;
    }
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    handle(update, *handler);
  }
}

// A handler is code of the task, though the task does not run: the Flow is open to it meanwhile.
void Updates::handle(const UpdatePtr& update, const UpdateHandler& handler) {
  std::string value;
  FailedAttempt failed;
  handling_ = true;
  try {
    value = handler.handle(flow_, update->request);
  } catch (const HandlerLeft&) {  // the task has been stopped
  } catch (...) {
    failed = failed_attempt(std::current_exception());
  }
  handling_ = false;
  if (!flow_.comparison.stopped())
    answer(update, std::move(value), std::move(failed), handler.site);
}

bool Updates::can_serve() const noexcept {
  return std::any_of(waiting_.begin(), waiting_.end(), [this](const UpdatePtr& each) {
    const auto handler = handlers->find(each->name);
    return handler != nullptr && handler->begin;
  });
}

namespace {
struct Counted {
  int& count;
  explicit Counted(int& what) : count(what) { ++count; }
  ~Counted() { --count; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};
}  // namespace

// What ends the code of the task ends the handler, too; the caller is told of a cancel first.
Durable<void> Updates::serve_next() {
  const auto next = std::find_if(waiting_.begin(), waiting_.end(), [this](const UpdatePtr& each) {
    const auto handler = handlers->find(each->name);
    return handler != nullptr && handler->begin;
  });
  if (next == waiting_.end()) co_return;
  const UpdatePtr update = *next;
  waiting_.erase(next);
  const std::shared_ptr<const UpdateHandler> handler = handlers->find(update->name);
  std::string value;
  FailedAttempt failed;
  std::exception_ptr cancelled;
  {
    const Counted serving(serving_);
    try {
      value = co_await handler->begin(flow_, update->request);
    } catch (const Cancelled&) {
      throw;
    } catch (const DurableCancelled&) {
      cancelled = std::current_exception();
      failed = failed_attempt(cancelled);
    } catch (...) {
      failed = failed_attempt(std::current_exception());
    }
  }
  answer(update, std::move(value), std::move(failed), handler->site);
  if (flow_.comparison.stopped()) flow_.leave_code();
  if (cancelled != nullptr) std::rethrow_exception(cancelled);
}

// The answer is a command of the code: a replay that gives another one is found. The hash is that
// of what the code has answered, also when that cannot be recorded and the caller hears why not.
void Updates::answer(const UpdatePtr& update, std::string value, FailedAttempt failed,
                     const std::source_location& site) {
  if (failed.sentence.empty()) {
    try {
      make_recordable(value, "The answer to update \"" + update->name + "\"");
    } catch (const Error&) {
      failed = failed_attempt(std::current_exception());
    }
  }
  bool is_failure = false;
  Failure failure;
  const auto fail = [&](FailedAttempt with) {
    is_failure = true;
    value = std::move(with.sentence);
    make_recordable_sentence(value);
    if (with.failure != nullptr) failure = *with.failure;
  };
  if (!failed.sentence.empty()) fail(std::move(failed));
  const std::string id = "update " + update->id;
  const std::string hash = hash_of((is_failure ? "!" : "=") + value);
  bool differs = false;
  const Command* const recorded = flow_.comparison.match("answer", id, hash, site, differs);
  if (differs) return;
  if (recorded == nullptr) {
    const auto append = [&] {
      records::Asked::answer(flow_.host.payload, *flow_.host.store, id, hash, value, is_failure,
                             failure);
      flow_.append(wal::RecordType::Command, flow_.host.payload, &site, 0, wal::Level::sync,
                   update.get());
    };
    FailedAttempt refused;
    try {
      append();
    } catch (const Error& error) {
      const bool too_long = error.code() == Errc::bad_argument && !is_failure;
      if (error.code() != Errc::value_not_encoded && !too_long) throw;
      refused = failed_attempt(std::current_exception());
    }
    if (!refused.sentence.empty()) {
      fail(std::move(refused));
      append();
    }
    update->flow = &flow_;
  } else if (recorded->failure != nullptr && !is_failure) {
    value = recorded->details;
    failure = *recorded->failure;
    is_failure = true;
  }
  update->answer = std::move(value);
  update->failed = is_failure;
  update->failure = failure;
  update->answered = true;
  std::string().swap(update->request);
  if (recorded != nullptr) {
    update->on_disk = true;
    update->settled.set();
  }
  --unanswered_;
  answered_.push_back(update);
  if (answered_.size() > kAnswersKept) forget_oldest();
}

Durable<void> serve_updates(FlowState& flow, std::function<bool()> until) {
  Updates& updates = flow.updates();
  auto something = [&] { return until() || updates.can_serve(); };
  for (;;) {
    co_await WaitUntil<decltype(something)>(flow, something, std::source_location());
    if (until()) co_return;
    co_await updates.serve_next();
  }
}

}  // namespace detail

FlowUpdate::FlowUpdate(std::shared_ptr<detail::UpdateHandlers> all, std::uint64_t number) noexcept
    : all_(std::move(all)), number_(number) {}
FlowUpdate& FlowUpdate::operator=(FlowUpdate&& other) noexcept {
  std::swap(all_, other.all_);
  std::swap(number_, other.number_);
  return *this;
}
FlowUpdate::~FlowUpdate() {
  if (all_ != nullptr) all_->remove(number_);
}

detail::Updates& FlowState::updates() {
  if (updates_ == nullptr) updates_ = std::make_unique<detail::Updates>(*this);
  return *updates_;
}

}  // namespace tiffany
