// Signals: values that are sent to a durable task by name, and wait in its mailbox until its code
// takes them.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "durable/fields.hpp"
#include "durable/hosted_task.hpp"
#include "durable/limits.hpp"
#include "durable/records.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany {

using detail::Arrival;
using detail::Fields;
using wal::Level;
using wal::RecordType;

// Not synced for its own sake: it goes with whatever is synced next, or when the task waits.
void FlowState::issue_signal(const std::string& name, const detail::ValueType& type, bool timed,
                             const std::source_location& site) {
  if (!records_waits()) return;
  const std::string id = next_id(name, "signal ");
  const std::string hash = timed ? "within" : "";
  bool differs = false;
  if (match("signal", id, hash, site, differs, type.shape) != nullptr || differs) return;
  records::Asked::signal(payload_, id, type.shape, hash);
  append(RecordType::Command, payload_, &site);
}

bool FlowState::has_signal(const std::string& name) const noexcept { return mailbox_.has(name); }

std::string FlowState::take_signal(const std::string& name) {
  if (mailbox_.has(name)) return mailbox_.take(name);
  check_cancelled();
  throw Error(Errc::durable_misuse, "There is no signal \"" + name + "\".");
}

std::shared_ptr<detail::Mail> FlowState::send(Arrival::Kind kind, std::string name,
                                              std::string value) {
  auto mail = std::make_shared<detail::Mail>();
  records::Sent::write(payload_, *host_.store_, kind == Arrival::Kind::signal, name, value);
  Arrival arrival;
  arrival.kind = kind;
  arrival.id = std::move(name);
  arrival.value = std::move(value);
  arrival.time = host_.store_->clock().now();
  arrival.seq = append(RecordType::Resumed, payload_, nullptr, 0, Level::sync, mail.get());
  mail->flow = this;
  arrival.mail = mail;
  arrivals_.push_back(std::move(arrival));
  if (kind == Arrival::Kind::cancel) ++cancels_;
  return mail;
}

// Everything that waits, as pairs of a name and a value. `whole`: all of it in one text.
std::string FlowState::mailbox_json(bool whole) const {
  std::string mail;
  JsonWriter out(mail);
  out.begin_array();
  const auto write = [&](const std::string& name, const std::string& value) {
    out.begin_array();
    out.value(name);
    std::string json;
    if (whole) {
      json = value;
    } else {
      host_.store_->add_value(json, value);
    }
    out.raw_value(json);
    out.end_array();
  };
  for (const auto& [name, value] : mailbox_) write(name, value);
  for (const detail::Arrival& arrival : arrivals_) {
    if (arrival.kind == detail::Arrival::Kind::signal) write(arrival.id, arrival.value);
  }
  out.end_array();
  return mail;
}

// So much of it would be in the record.
std::size_t FlowState::mailbox_size() const noexcept {
  std::size_t size = 0;
  const auto count = [&size](const std::string& name, const std::string& value) {
    constexpr std::size_t kReference = 120;
    size += name.size() + (wal::belongs_aside(value) ? kReference : value.size()) + 6;
  };
  for (const auto& [name, value] : mailbox_) count(name, value);
  for (const detail::Arrival& arrival : arrivals_) {
    if (arrival.kind == detail::Arrival::Kind::signal) count(arrival.id, arrival.value);
  }
  return size;
}

// A mailbox that is too long for a record lies beside the log as a whole, with its values as they
// are. In one that does not, each value may lie beside the log.
void FlowState::read_mailbox(std::string_view recorded) {
  mailbox_.clear();
  const std::string text = host_.store_->value_of(recorded);
  const bool whole = text != recorded;
  for (auto& [name, mail] : Fields::pairs_in(text)) {
    mailbox_.put(std::move(name), whole ? std::move(mail) : host_.store_->value_of(mail));
  }
}

Task<void> HostCore::signal_json(Uuid id, std::string name, std::string value) {
  detail::require_name(name, "The name of a signal");
  value = detail::recordable(value, "The value of a signal");
  HostedTask& task = entry(id, "Host::signal");
  const Held held(task);
  require_alive(task, "Host::signal");
  co_await send(&task, true, std::move(name), std::move(value));
}

// To the task, if its code is here; or else to its log.
Task<void> HostCore::send(HostedTask* task, bool signal, std::string name, std::string value) {
  co_await until_settled(task);
  if (signal) require_alive(*task, "Host::signal");
  if (task->log.ended) co_return;
  if (task->flow != nullptr) {
    using Kind = detail::Arrival::Kind;
    const auto mail =
        task->flow->send(signal ? Kind::signal : Kind::cancel, std::move(name), std::move(value));
    co_await mail->event.wait();
    if (mail->error != nullptr) std::rethrow_exception(mail->error);
    co_return;
  }
  const Changing changing(*task, changed_);
  std::string payload;
  records::Sent::write(payload, *store_, signal, name, value);
  co_await record(*task, RecordType::Resumed, payload);
}

}  // namespace tiffany
