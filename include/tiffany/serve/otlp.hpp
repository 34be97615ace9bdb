// Sends spans to an OpenTelemetry collector (OTLP/HTTP with JSON), as they end.
//
//   auto exporter = spawn(http::export_spans, &tracer, http::OtlpOptions(Address::loopback(4318)));
//
// Spans are sent in batches, every few seconds or when there are many. An answer of 429, 502, 503
// or 504, and a collector that cannot be reached, are tried again, after what Retry-After says or
// after a pause that grows; any other refusal drops the batch, because it would be refused again.
// What is not sent waits in the tracer, which is bounded: a collector that is gone costs spans, and
// nothing else. Counts: OtlpCounts.
//
// Cancel: one last attempt is made to send what has ended, for at most OtlpOptions::farewell; then
// Cancelled goes on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tiffany/base/time.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/io/address.hpp"
#include "tiffany/observe/span.hpp"

namespace tiffany::http {

struct OtlpCounts {
  std::uint64_t sent = 0;     // spans that the collector has taken
  std::uint64_t refused = 0;  // spans that it will never take
  std::uint64_t retries = 0;  // requests that were made again
};

class OtlpOptions {
 public:
  explicit OtlpOptions(Address where) : collector(std::move(where)) {}
  Address collector;
  std::string path = "/v1/traces";
  std::string service = "tiffany";
  std::size_t batch = 512;  // spans in a request
  Duration interval = std::chrono::seconds(5);
  Duration timeout = std::chrono::seconds(10);  // of a request
  Duration first_pause = std::chrono::seconds(1);
  Duration longest_pause = std::chrono::seconds(30);
  int attempts = 5;  // for a batch
  Duration farewell = std::chrono::seconds(2);
  OtlpCounts* counts = nullptr;  // kept up to date, if there is one
};

// Until it is cancelled. The tracer outlives it.
Task<void> export_spans(observe::Tracer* tracer, OtlpOptions options);

}  // namespace tiffany::http
