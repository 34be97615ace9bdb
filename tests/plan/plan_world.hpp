// A world in which plans are run with commands that are scripts, on virtual time.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/fake_commands.hpp"
#include "tiffany/durable/crash_test.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany {

inline const Uuid kPlanTask = Uuid::derived(Uuid(), "a plan");

class PlanTest : public testing::Test {
 protected:
  PlanTest()
      : services_(commands), world([this] {
          Registry types;
          plan::add_plans(types, services_);
          return types;
        }) {}

  void read(const std::string& text) {
    plan::Checked checked = plan::check(text, "plan.yaml");
    ASSERT_EQ(checked.text(), "");
    plan = *checked.plan;
  }
  Task<void> start(Host& host, plan::Values values = {}) {
    co_await host.start_as(kPlanTask, plan::kPlanType, plan, values);
  }
  // How it ended, however that is.
  static Task<DurableStatus> ended(Host& host) {
    try {
      co_await host.result<plan::PlanEnd>(kPlanTask);
    } catch (const Error&) {
    }
    co_return host.info(kPlanTask)->status;
  }
  // Runs it to its end in one life; what it failed with, or nothing.
  std::string run(plan::Values values = {}) {
    std::string failure;
    world.live([&](Host& host) -> Task<void> {
      co_await start(host, values);
      try {
        end = co_await host.result<plan::PlanEnd>(kPlanTask);
      } catch (const Error& error) {
        failure = error.what();
      }
    });
    return failure;
  }
  std::string state_of(const std::string& unit) const {
    for (const plan::UnitView& each : end.units) {
      if (each.name == unit) return each.state;
    }
    return "nowhere";
  }

  FakeCommands commands;
  plan::PlanServices services_;
  CrashTest world;
  plan::Plan plan;
  plan::PlanEnd end;
};

}  // namespace tiffany
