// Spans: how long each part of the work took, and inside of what, across tasks.
//
//   observe::Tracer tracer;
//   co_await observe::trace(tracer, id, [&]() -> Task<void> { ... });   // everything in there
//
//   Task<void> ship(Order order) {
//     observe::Span span("ship");
//     span.set("order", order.id);
//     ...                                   // tasks that are spawned here have it as their parent
//   }                                       // ends here; failed, when an exception goes through
//
// Where no tracer is in the context, a span costs one look-up and does nothing.
//
// Ids. A trace has the id of the task it is about. The id of a span is made of its trace, its
// parent, its name and how many children of its parent had begun before it: a durable task that is
// replayed makes the same spans with the same ids, in every process. `traceparent` (W3C) takes a
// trace in and out of the process.
//
// Spans that have ended are kept until somebody takes them, the last Tracer::kMost of them; what is
// dropped is counted.
//
// Thread safety: none; a tracer belongs to one scheduler and outlives the tasks that use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/uuid.hpp"
#include "tiffany/core/context.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/structure/with.hpp"

namespace tiffany::observe {

// Which span of which trace.
struct SpanId {
  Uuid trace{};
  std::uint64_t span = 0;

  // "00-<32 hex>-<16 hex>-01"
  std::string traceparent() const;
  // Nothing when it is none, has a version that is not to be read, or is all zeros.
  static std::optional<SpanId> parse_traceparent(std::string_view text) noexcept;
  friend bool operator==(const SpanId&, const SpanId&) = default;
};

// A span that has ended.
struct EndedSpan {
  SpanId id{};
  std::uint64_t parent = 0;  // 0: the root of its trace
  std::string name{};
  std::int64_t began = 0;  // nanoseconds since 1970, by the clock on the wall
  std::int64_t ended = 0;
  TaskId task{};
  bool failed = false;
  std::string error{};
  // Values as JSON.
  std::vector<std::pair<std::string, std::string>> attributes{};
};

class Tracer {
 public:
  static constexpr std::size_t kMost = 8192;

  explicit Tracer(std::size_t most = kMost) noexcept : most_(most) {}

  // A span that somebody else has timed: of a step of a durable task.
  void record(EndedSpan span);
  // Everything that has ended and was not taken, in the order of the ends.
  std::vector<EndedSpan> take();
  std::size_t size() const noexcept { return ended_.size(); }
  std::uint64_t dropped() const noexcept { return dropped_; }
  std::uint64_t count() const noexcept { return count_; }  // all that have ended
  std::size_t open() const noexcept { return open_; }

 private:
  friend class Span;
  void add(EndedSpan span);

  std::size_t most_;
  std::deque<EndedSpan> ended_;
  std::uint64_t dropped_ = 0;
  std::uint64_t count_ = 0;
  std::size_t open_ = 0;
};

namespace detail {

// What a context says of the span around the code. Kept by the tasks that inherited it.
struct SpanState {
  Tracer* tracer = nullptr;
  SpanId id{};
  std::uint64_t children = 0;
};
inline constexpr ContextKey<std::shared_ptr<SpanState>> kSpan{"span"};

}  // namespace detail

class [[nodiscard("a span lasts as long as this object")]] Span {
 public:
  // Inside of the one around it. In a task.
  explicit Span(std::string_view name);
  // The end. Spans of one task end in the reverse order of their beginnings, as objects do.
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  // False: nobody traces.
  explicit operator bool() const noexcept { return state_ != nullptr; }
  SpanId id() const noexcept { return state_ != nullptr ? state_->id : SpanId(); }

  template <class V>
  void set(std::string_view name, const V& value) {
    if (state_ != nullptr) set(log::Field(name, value));
  }
  void set(const log::Field& attribute);
  void fail(std::string_view why);

  // The span around the code that asks; nothing when there is none.
  static std::optional<SpanId> current();

 private:
  std::shared_ptr<detail::SpanState> state_;
  std::optional<ContextBlock> block_;
  EndedSpan ended_;
  int exceptions_ = 0;
};

namespace detail {
std::shared_ptr<SpanState> root(Tracer& tracer, const SpanId& parent);
}

// Runs a block whose spans go to the tracer: in the trace of that task, or inside of a span that
// another process has begun.
template <class Body>
auto trace(Tracer& tracer, const SpanId& parent, Body&& body) {
  return with(detail::kSpan, detail::root(tracer, parent), std::forward<Body>(body));
}
template <class Body>
auto trace(Tracer& tracer, const Uuid& task, Body&& body) {
  SpanId parent;
  parent.trace = task;
  return trace(tracer, parent, std::forward<Body>(body));
}

// ---- As others read them ----

// The body of an OTLP/HTTP request with JSON (opentelemetry-proto 1.x, ExportTraceServiceRequest).
std::string otlp_json(const std::vector<EndedSpan>& spans, std::string_view service);
// Trace Event Format, for Perfetto and chrome://tracing: the elements of "traceEvents", with commas
// between them. A row for each task.
std::string trace_events(const std::vector<EndedSpan>& spans);

}  // namespace tiffany::observe
