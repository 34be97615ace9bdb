#include "durable/updates.hpp"

#include <algorithm>
#include <utility>

#include "durable/excerpt.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/json_reader.hpp"
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
  records::Sent::write_update(flow_.host.payload, *flow_.host.store, name, id, request);
  Arrival arrival;
  arrival.kind = Arrival::Kind::update;
  arrival.id = id;
  arrival.time = flow_.host.store->clock().now();
  arrival.seq = flow_.append(wal::RecordType::Resumed, flow_.host.payload, nullptr, 0,
                             wal::Level::sync, mail.get());
  mail->flow = &flow_;
  arrival.mail = std::move(mail);
  flow_.arrivals.push(std::move(arrival));
  return known_.insert_or_assign(id, made(id, name, request)).first->second;
}

void Updates::loaded(const std::string& id, std::string name, const std::string& request) {
  known_.insert_or_assign(id, made(id, std::move(name), request));
}

void Updates::arrived(const std::string& id) {
  if (UpdatePtr update = find(id)) waiting_.push_back(std::move(update));
}

void Updates::clear() noexcept {
  known_.clear();
  waiting_.clear();
  answered_.clear();
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

// The answer is a command of the code: a replay that gives another one is found.
void Updates::answer(const UpdatePtr& update, std::string value, FailedAttempt failed,
                     const std::source_location& site) {
  if (failed.sentence.empty()) {
    try {
      make_recordable(value, "The answer to update \"" + update->name + "\"");
    } catch (const Error&) {
      failed = failed_attempt(std::current_exception());
    }
  }
  const bool is_failure = !failed.sentence.empty();
  if (is_failure) {
    value = std::move(failed.sentence);
    make_recordable_sentence(value);
  }
  const Failure failure = failed.failure != nullptr ? *failed.failure : Failure();
  const std::string id = "update " + update->id;
  const std::string hash = hash_of((is_failure ? "!" : "=") + value);
  bool differs = false;
  const Command* const recorded = flow_.comparison.match("answer", id, hash, site, differs);
  if (differs) return;
  if (recorded == nullptr) {
    records::Asked::answer(flow_.host.payload, *flow_.host.store, id, hash, value, is_failure,
                           failure);
    flow_.append(wal::RecordType::Command, flow_.host.payload, &site, 0, wal::Level::sync,
                 update.get());
    update->flow = &flow_;
  }
  update->answer = std::move(value);
  update->failed = is_failure;
  update->failure = failure;
  update->answered = true;
  update->request = std::string();
  if (recorded != nullptr) {
    update->on_disk = true;
    update->settled.set();
  }
  answered_.push_back(update);
  if (answered_.size() <= kAnswersKept) return;
  known_.erase(answered_.front()->id);
  answered_.pop_front();
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

// ---- Checkpoints ----

std::string Updates::waiting_json() const {
  std::string json;
  JsonWriter out(json);
  bool any = false;
  const auto write = [&](const KnownUpdate& update) {
    any = true;
    out.begin_array();
    out.value(update.id);
    out.value(update.name);
    out.raw_value(update.request);
    out.end_array();
  };
  out.begin_array();
  for (const UpdatePtr& each : waiting_) write(*each);
  for (const Arrival& arrival : flow_.arrivals) {
    const UpdatePtr update = arrival.kind == Arrival::Kind::update ? find(arrival.id) : nullptr;
    if (update != nullptr) write(*update);
  }
  out.end_array();
  return any ? json : std::string();
}

std::string Updates::answers_json() const {
  if (answered_.empty()) return {};
  std::string json;
  JsonWriter out(json);
  out.begin_array();
  for (const UpdatePtr& each : answered_) {
    out.begin_array();
    out.value(each->id);
    out.value(each->hash);
    out.value(each->failed ? 1 : 0);
    if (each->failed) {
      out.value(each->answer);
    } else {
      out.raw_value(each->answer);
    }
    out.value(each->failure.type);
    out.value(each->failure.code);
    out.end_array();
  }
  out.end_array();
  return json;
}

std::vector<UpdatePtr> Updates::waiting_in(std::string_view json) {
  std::vector<UpdatePtr> all;
  if (json.empty()) return all;
  JsonReader in(json);
  in.begin_array();
  while (in.next_element()) {
    in.begin_array();
    in.next_element();
    std::string id = in.string();
    in.next_element();
    std::string name = in.string();
    in.next_element();
    all.push_back(made(std::move(id), std::move(name), std::string(in.raw())));
    in.next_element();
  }
  return all;
}

void Updates::read_waiting(std::string_view json) {
  for (UpdatePtr& each : waiting_in(json)) {
    known_.insert_or_assign(each->id, each);
    waiting_.push_back(std::move(each));
  }
}

std::vector<UpdatePtr> Updates::answers_in(std::string_view json) {
  std::vector<UpdatePtr> all;
  if (json.empty()) return all;
  JsonReader in(json);
  in.begin_array();
  while (in.next_element()) {
    auto made = std::make_shared<KnownUpdate>();
    in.begin_array();
    in.next_element();
    made->id = in.string();
    in.next_element();
    made->hash = in.string();
    in.next_element();
    made->failed = in.integer() != 0;
    in.next_element();
    made->answer = made->failed ? in.string() : std::string(in.raw());
    in.next_element();
    made->failure.type = in.string();
    in.next_element();
    made->failure.code = static_cast<int>(in.integer());
    in.next_element();
    made->answered = made->on_disk = true;
    made->settled.set();
    all.push_back(std::move(made));
  }
  return all;
}

void Updates::read_answers(std::string_view json) {
  for (UpdatePtr& each : answers_in(json)) {
    known_.insert_or_assign(each->id, each);
    answered_.push_back(std::move(each));
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
