// What agents are measured by: metrics and spans with the names that OpenTelemetry gives to
// generative models (gen_ai.*), in the spelling of Prometheus.
//
//   agent::AgentMeters meters(metrics, &tracer);
//   services.meters = &meters;
//
// Counted where the work is done, so a replay counts nothing again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tiffany/agent/message.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/observe/metrics.hpp"
#include "tiffany/observe/span.hpp"

namespace tiffany::agent {

class AgentMeters {
 public:
  // One attempt at a step of a task, from when on.
  class Attempted {
   public:
    Attempted(const Uuid& of, std::string step_key, int count);
    Uuid task;
    std::string key;
    int number;
    std::int64_t began_us;  // since 1970
  };

  // Both outlive it. Without a tracer there are no spans.
  explicit AgentMeters(observe::Metrics& metrics, observe::Tracer* tracer = nullptr);

  // A model was asked. `failed`: it gave no reply, and `answered` is the model that was asked for.
  void asked(const Attempted& attempt, const std::string& model, const Usage& usage,
             std::int64_t micro_dollars, bool failed);
  void ran_tool(const Attempted& attempt, const std::string& tool, int level, bool failed);
  // "approve", "reject", or "none" when nobody answered in time.
  void answered(std::string_view verdict);

 private:
  void record(const Attempted& attempt, std::string name, bool failed,
              std::vector<std::pair<std::string, std::string>> attributes);

  observe::Tracer* tracer_;
  observe::Family<observe::Histogram>& tokens_;
  observe::Family<observe::Histogram>& seconds_;
  observe::Family<observe::Counter>& cost_;
  observe::Family<observe::Counter>& tools_;
  observe::Family<observe::Histogram>& tool_seconds_;
  observe::Family<observe::Counter>& answers_;
};

}  // namespace tiffany::agent
