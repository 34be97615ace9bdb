// Flow::start: durable tasks that another one starts and that are nobody's children.
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"

namespace tiffany::detail {

std::string type_for(FlowState& flow, AnyFunction function, std::string_view what) {
  return flow.host.types.require(function, what).name;
}

std::weak_ptr<HostCore> host_of(FlowState& flow) { return flow.host.weak_from_this(); }

namespace {

// The id is made of the key of the step, so a second attempt finds the task of the first.
Task<Uuid> start_once(std::shared_ptr<HostCore> host, std::string type, std::string arguments,
                      Uuid id) {
  co_return co_await host->starts.start(std::move(type), std::move(arguments), id,
                                        StartOptions().id(id));
}

}  // namespace

Durable<Uuid> start_from(FlowState& flow, std::string type, std::string arguments,
                         std::source_location site) {
  const std::string name = "start " + type;
  const auto once = [&](Attempt& attempt) {
    return start_once(flow.host.shared_from_this(), type, arguments,
                      Uuid::derived(flow.log.id, attempt.key()));
  };
  // No code of a user runs in it that could be what ends the process each time.
  constexpr int kAlways = std::numeric_limits<int>::max();
  co_return co_await flow.code.flow.step(
      name, StepOptions().arguments(type, arguments).crashes(kAlways), once, site);
}

}  // namespace tiffany::detail
