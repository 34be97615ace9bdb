#include "tiffany/observe/span.hpp"

#include <exception>

#include "tiffany/base/hash.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany::observe {

namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void append_hex(std::string& out, std::uint64_t number) {
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[(number >> shift) & 15];
}
// 32 digits, without the dashes of a UUID.
std::string trace_text(const Uuid& trace) {
  std::string text = trace.text();
  std::erase(text, '-');
  return text;
}
std::string span_text(std::uint64_t span) {
  std::string text;
  append_hex(text, span);
  return text;
}

std::int64_t wall_ns() {
  if (const auto wall = World::current().wall_clock_us()) return *wall * 1000;
  const Scheduler* scheduler = Scheduler::current();
  return scheduler == nullptr ? 0 : scheduler->now().time_since_epoch().count();
}

// Never zero, which names no span.
std::uint64_t derive(const SpanId& parent, std::string_view name, std::uint64_t index) noexcept {
  std::uint64_t hash = mix(parent.trace.hash(), parent.span);
  hash = mix(hash, hash_name(name));
  hash = mix(hash, index);
  hash = mix(hash, hash >> 29);
  return hash != 0 ? hash : 1;
}

bool all_hex(std::string_view text) noexcept {
  return text.find_first_not_of(kHex) == std::string_view::npos;
}

}  // namespace

std::string SpanId::traceparent() const {
  return "00-" + trace_text(trace) + "-" + span_text(span) + "-01";
}

std::optional<SpanId> SpanId::parse_traceparent(std::string_view text) noexcept {
  constexpr std::size_t kSize = 55;
  if (text.size() < kSize || text[2] != '-' || text[35] != '-' || text[52] != '-') {
    return std::nullopt;
  }
  const std::string_view version = text.substr(0, 2);
  if (!all_hex(version) || version == "ff" || (version == "00" && text.size() != kSize) ||
      (text.size() > kSize && text[kSize] != '-')) {
    return std::nullopt;
  }
  const std::string_view trace = text.substr(3, 32);
  const std::string_view span = text.substr(36, 16);
  if (!all_hex(trace) || !all_hex(span) || !all_hex(text.substr(53, 2))) return std::nullopt;
  std::string dashed(trace);
  for (const std::size_t at : {8u, 13u, 18u, 23u}) dashed.insert(at, 1, '-');
  SpanId found;
  found.trace = Uuid::parse(dashed).value_or(Uuid());
  for (const char c : span) found.span = found.span << 4 | kHex.find(c);
  if (found.trace.nil() || found.span == 0) return std::nullopt;
  return found;
}

// ---- Tracers ----

void Tracer::add(EndedSpan span) {
  ++count_;
  --open_;
  if (ended_.size() >= most_ && !ended_.empty()) {
    ended_.pop_front();
    ++dropped_;
  }
  if (most_ > 0) {
    ended_.push_back(std::move(span));
  } else {
    ++dropped_;
  }
}

void Tracer::record(EndedSpan span) {
  ++open_;
  add(std::move(span));
}

std::vector<EndedSpan> Tracer::take() {
  std::vector<EndedSpan> all(std::make_move_iterator(ended_.begin()),
                             std::make_move_iterator(ended_.end()));
  ended_.clear();
  return all;
}

std::shared_ptr<detail::SpanState> detail::root(Tracer& tracer, const SpanId& parent) {
  auto state = std::make_shared<SpanState>();
  state->tracer = &tracer;
  state->id = parent;
  return state;
}

// ---- Spans ----

Span::Span(std::string_view name) {
  const std::shared_ptr<detail::SpanState>* const around = lookup(detail::kSpan);
  if (around == nullptr) return;
  detail::SpanState& parent = **around;
  state_ = std::make_shared<detail::SpanState>();
  state_->tracer = parent.tracer;
  state_->id.trace = parent.id.trace;
  state_->id.span = derive(parent.id, name, parent.children++);
  Scheduler& scheduler = Scheduler::require("Span");
  block_.emplace(ContextBlock::push,
                 Ref<ContextNode>::adopt(make_in<ContextValue<std::shared_ptr<detail::SpanState>>>(
                     scheduler.arena(), detail::kSpan, state_)));
  ended_.id = state_->id;
  ended_.parent = parent.id.span;
  ended_.name = name;
  ended_.began = wall_ns();
  ended_.task = scheduler.running()->id();
  exceptions_ = std::uncaught_exceptions();
  ++state_->tracer->open_;
}

Span::~Span() {
  if (state_ == nullptr) return;
  ended_.ended = wall_ns();
  if (std::uncaught_exceptions() > exceptions_ && !ended_.failed) {
    ended_.failed = true;
    ended_.error = "ended by an exception";
  }
  state_->tracer->add(std::move(ended_));
}

void Span::set(const log::Field& attribute) {
  if (state_ == nullptr) return;
  std::string value;
  attribute.append_json(value);
  // The type of an attribute is that of what was given, whatever its value.
  if (attribute.kind() == log::Field::Kind::number &&
      value.find_first_of(".e\"") == std::string::npos) {
    value += ".0";
  }
  if (attribute.kind() == log::Field::Kind::natural && value.size() >= 19 &&
      (value.size() > 19 || value > "9223372036854775807")) {
    value = '"' + value + '"';  // beyond what others have a number for
  }
  for (auto& [name, known] : ended_.attributes) {
    if (name != attribute.key()) continue;
    known = std::move(value);
    return;
  }
  constexpr std::size_t kMostAttributes = 128;  // as OpenTelemetry has it
  if (ended_.attributes.size() >= kMostAttributes) return;
  ended_.attributes.emplace_back(attribute.key(), std::move(value));
}

void Span::fail(std::string_view why) {
  if (state_ == nullptr) return;
  ended_.failed = true;
  ended_.error = why;
}

std::optional<SpanId> Span::current() {
  if (Scheduler::current() == nullptr || Scheduler::current()->running() == nullptr) {
    return std::nullopt;
  }
  const std::shared_ptr<detail::SpanState>* const around = lookup(detail::kSpan);
  if (around == nullptr) return std::nullopt;
  return (*around)->id;
}

// ---- As others read them ----

namespace {

// An AnyValue of OTLP: numbers of 64 bits are text there.
void write_any_value(JsonWriter& out, std::string_view json) {
  out.begin_object();
  if (json == "true" || json == "false") {
    out.key("boolValue");
    out.raw_value(json);
  } else if (json.starts_with('"')) {
    out.key("stringValue");
    out.raw_value(json);
  } else if (json.find_first_of(".eE") != std::string_view::npos) {
    out.key("doubleValue");
    out.raw_value(json);
  } else {
    out.member("intValue", json);
  }
  out.end_object();
}

}  // namespace

std::string otlp_json(const std::vector<EndedSpan>& spans, std::string_view service) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.key("resourceSpans");
  out.begin_array();
  out.begin_object();
  out.key("resource");
  out.begin_object();
  out.key("attributes");
  out.begin_array();
  out.begin_object();
  out.member("key", "service.name");
  out.key("value");
  out.begin_object();
  out.member("stringValue", service);
  out.end_object();
  out.end_object();
  out.end_array();
  out.end_object();
  out.key("scopeSpans");
  out.begin_array();
  out.begin_object();
  out.key("scope");
  out.begin_object();
  out.member("name", "tiffany");
  out.end_object();
  out.key("spans");
  out.begin_array();
  for (const EndedSpan& span : spans) {
    out.begin_object();
    out.member("traceId", trace_text(span.id.trace));
    out.member("spanId", span_text(span.id.span));
    if (span.parent != 0) out.member("parentSpanId", span_text(span.parent));
    out.member("name", span.name);
    out.member("kind", 1);  // internal
    out.member("startTimeUnixNano", std::to_string(span.began));
    out.member("endTimeUnixNano", std::to_string(span.ended));
    out.key("attributes");
    out.begin_array();
    for (const auto& [name, value] : span.attributes) {
      out.begin_object();
      out.member("key", name);
      out.key("value");
      write_any_value(out, value);
      out.end_object();
    }
    out.end_array();
    out.key("status");
    out.begin_object();
    if (span.failed) {
      out.member("message", span.error);
      out.member("code", 2);
    }
    out.end_object();
    out.end_object();
  }
  out.end_array();
  out.end_object();
  out.end_array();
  out.end_object();
  out.end_array();
  out.end_object();
  return text;
}

std::string trace_events(const std::vector<EndedSpan>& spans) {
  std::string text;
  for (const EndedSpan& span : spans) {
    if (!text.empty()) text += ",\n";
    JsonWriter out(text);
    out.begin_object();
    out.member("name", span.name);
    out.member("cat", "span");
    out.member("ph", "X");
    out.member("ts", static_cast<double>(span.began) / 1000);  // microseconds
    out.member("dur", static_cast<double>(span.ended - span.began) / 1000);
    out.member("pid", 1);
    out.member("tid", span.task.slot());
    out.key("args");
    out.begin_object();
    out.member("trace_id", trace_text(span.id.trace));
    out.member("span_id", span_text(span.id.span));
    if (span.failed) out.member("error", span.error);
    for (const auto& [name, value] : span.attributes) {
      out.key(name);
      out.raw_value(value);
    }
    out.end_object();
    out.end_object();
  }
  return text;
}

}  // namespace tiffany::observe
