#include "tiffany/plan/run.hpp"

#include <string_view>
#include <tuple>
#include <utility>

#include "plan/plan_run.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::plan {
namespace {

using PlanArguments = std::tuple<Plan, Values>;

Durable<std::string> run_plan(PlanServices* services, Flow* flow, PlanArguments arguments) {
  const Plan& plan = std::get<0>(arguments);
  PlanRun run(*services, *flow, plan, with_defaults(plan, std::get<1>(arguments)));
  const auto query = flow->on_query(kPlanView, [&] { return run.view(); });
  co_return to_json(co_await run.run());
}

}  // namespace

Schedule schedule_of(const Plan& plan, const Values& values) {
  if (!plan.schedule) {
    throw Error(Errc::bad_plan, "The plan \"" + plan.name + "\" has no schedule.");
  }
  const ScheduleSpec& spec = *plan.schedule;
  Overlap overlap = Overlap::skip;
  if (spec.overlap == "queue") overlap = Overlap::queue;
  if (spec.overlap == "cancel") overlap = Overlap::cancel;
  return Schedule(kPlanType, plan, with_defaults(plan, values))
      .cron(spec.cron)
      .zone(spec.zone)
      .overlap(overlap)
      .catch_up(spec.catch_up);
}

void add_plans(Registry& types, PlanServices& services) {
  DurableType type;
  type.name = kPlanType;
  type.make = [&services](Flow& flow, std::string_view arguments) {
    return run_plan(&services, &flow, from_json<PlanArguments>(arguments));
  };
  type.arguments = &detail::kValueType<PlanArguments>;
  types.add(std::move(type));
}

}  // namespace tiffany::plan
