// Signals: values that are sent to a durable task by name, and wait in its mailbox until its code
// takes them.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "durable/fields.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/records.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany {

using detail::Arrival;
using detail::Fields;
using wal::Level;
using wal::RecordType;

// Not synced for its own sake: it goes with whatever is synced next, or when the task waits.
void TaskSignals::issue(const std::string& name, const detail::ValueType& type, bool timed,
                        const std::source_location& site) {
  if (!flow_.written_by.records_waits()) return;
  const std::string id = flow_.code.names.next(name, "signal ");
  const std::string hash = timed ? "within" : "";
  bool differs = false;
  const detail::Command* const recorded =
      flow_.comparison.match("signal", id, hash, site, differs, type.shape);
  if (recorded != nullptr || differs) return;
  records::Asked::signal(flow_.host.payload, id, type.shape, hash);
  flow_.append(RecordType::Command, flow_.host.payload, &site);
}

std::string TaskSignals::take(const std::string& name) {
  if (has(name)) return mailbox_->take(name);
  flow_.check_cancelled();
  throw Error(Errc::durable_misuse, "There is no signal \"" + name + "\".");
}

// A wait in a frame comes after those in the line: the code has asked for them before.
void TaskSignals::put(std::string name, std::string value) {
  ++came_;
  if (detail::SignalSlot* const first = first_in_line(name)) {
    return give(*first, std::move(value), came_);
  }
  if (mailbox_ == nullptr) mailbox_ = std::make_unique<detail::SignalBox>();
  mailbox_->put(std::move(name), std::move(value), came_);
}

// Those that the code has been shown, and those that it will be.
template <class F>
void TaskSignals::each(const F& call) const {
  if (mailbox_ != nullptr) {
    for (const auto& [name, value] : *mailbox_) call(name, value);
  }
  for (const Arrival& arrival : flow_.arrivals) {
    if (arrival.kind == Arrival::Kind::signal) call(arrival.id, arrival.value);
  }
}

std::shared_ptr<detail::TaskMail> TaskSignals::send(Arrival::Kind kind, std::string name,
                                                    std::string value, const Actor& actor) {
  // Shared: the sender may be cancelled while it waits for the disk, and the task may end.
  auto mail = std::make_shared<detail::TaskMail>();
  records::Sent::write(flow_.host.payload, *flow_.host.store, kind == Arrival::Kind::signal, name,
                       value);
  flow_.host.payload += records::members_of(actor);
  Arrival arrival;
  arrival.kind = kind;
  arrival.id = std::move(name);
  arrival.value = std::move(value);
  arrival.time = flow_.host.store->clock().now();
  arrival.seq =
      flow_.append(RecordType::Resumed, flow_.host.payload, nullptr, 0, Level::sync, mail.get());
  mail->flow = &flow_;
  arrival.mail = mail;
  flow_.arrivals.push(std::move(arrival));
  return mail;
}

std::string TaskSignals::json(bool whole) const {
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
      flow_.host.store->add_value(json, value);
    }
    out.raw_value(json);
    out.end_array();
  };
  each(write);
  out.end_array();
  return mail;
}

std::size_t TaskSignals::size() const noexcept {
  std::size_t size = 0;
  const auto count = [&size](const std::string& name, const std::string& value) {
    constexpr std::size_t kReference = 120;
    size += name.size() + (wal::belongs_aside(value) ? kReference : value.size()) + 6;
  };
  each(count);
  return size;
}

// A mailbox that is too long for a record lies beside the log as a whole, with its values as they
// are; so is one that passes a codec. In others, each value may lie beside the log.
void TaskSignals::read(const wal::RecordView& record, std::string_view recorded) {
  mailbox_.reset();
  wal::RecordStore& store = *flow_.host.store;
  const std::string text = records::value_in(record, store, recorded);
  const bool whole = text != recorded;
  for (auto& [name, mail] : Fields::pairs_in(text)) {
    put(std::move(name), whole ? std::move(mail) : records::value_in(record, store, mail));
  }
}

}  // namespace tiffany
