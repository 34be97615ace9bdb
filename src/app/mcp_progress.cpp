#include "app/mcp_progress.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/mcp_tasks.hpp"
#include "app/mcp_tools.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany::app {
namespace {

constexpr int kFirstLookMs = 20;
constexpr int kLongestLookMs = 500;
// Clients give up after ten seconds and more.
constexpr Duration kLongestSilence = std::chrono::seconds(5);
constexpr int kMostBeats = 99;

Time mcp_now() { return Scheduler::require("mcp").deadline_in(Duration::zero()); }

bool unit_has_ended(const Json& unit) {
  const std::string& state = unit["state"].text();
  return state == "done" || state == "failed" || state == "skipped";
}

// The number grows with each notification, also when the task has not gone on: 3, 3.01, 3.02.
std::string progress_number(std::int64_t done, int beats) {
  std::string text = std::to_string(done);
  if (beats > 0) text += (beats < 10 ? ".0" : ".") + std::to_string(beats);
  return text;
}

}  // namespace

Task<Json> McpProgress::wait(std::string id, int seconds) {
  if (listener_ != nullptr && seconds > 0) co_return co_await wait_and_tell(std::move(id), seconds);
  const Duration patience = Client::kPatience + std::chrono::seconds(seconds);
  std::string path = "/tasks/" + id + "/result?wait=" + std::to_string(seconds) + "s";
  co_return co_await door_.get(std::move(path), patience);
}

Task<Json> McpProgress::wait_and_tell(std::string id, int seconds) {
  const Time end = mcp_now() + std::chrono::seconds(seconds);
  for (int look_ms = kFirstLookMs;; look_ms = std::min(2 * look_ms, kLongestLookMs)) {
    std::string path = "/tasks/" + id + "/result?wait=" + std::to_string(look_ms) + "ms";
    const Json task = co_await door_.get(std::move(path), Client::kPatience);
    if (!mcp_task_goes_on(task)) {
      co_await tell_end(&task);
      co_return task;
    }
    if (mcp_now() >= end) co_return task;
    co_await tell_when_due(task);
  }
}

// The count of records says whether there is anything new to look at.
Task<void> McpProgress::tell_when_due(Json task) {
  const std::int64_t records = task["records"].number();
  if (records != records_) {
    records_ = records;
    const Standing now = co_await standing_of(std::move(task));
    const bool further = !told_ || now.done > last_.done;
    if (further) {
      last_ = now;
      beats_ = 0;
      co_return co_await tell(&last_);
    }
    last_.message = now.message;
    last_.total = std::max(last_.total, now.total);
  }
  if (mcp_now() - told_at_ < kLongestSilence || beats_ == kMostBeats) co_return;
  ++beats_;
  co_await tell(&last_);
}

// A call that is over before anything was told needs no notification.
Task<void> McpProgress::tell_end(const Json* task) {
  if (!told_) co_return;
  Standing end = last_;
  if (last_.in_records) {
    end.done = (*task)["records"].number();
  } else if ((*task)["status"].text() == "completed") {
    end.done = last_.total;
  }
  if (end.done <= last_.done) co_return;
  end.message = (*task)["status"].text();
  beats_ = 0;
  co_await tell(&end);
}

Task<McpProgress::Standing> McpProgress::standing_of(Json task) {
  Standing now;
  const std::string path = "/tasks/" + task["id"].text();
  const Json whole = co_await door_.get(path, Client::kPatience);
  const Json view = co_await mcp_task_view(door_, whole);
  const Json& of_agent = view["answer"];
  if (!view["units"].null()) {
    const auto& units = view["units"].elements();
    now.total = static_cast<std::int64_t>(units.size());
    now.done = std::ranges::count_if(units, unit_has_ended);
    now.message =
        std::to_string(now.done) + " of " + std::to_string(now.total) + " steps have ended";
  } else if (!of_agent.null()) {
    now.done = of_agent["turns"].number();
    now.message = of_agent["state"].text() + ", turn " + std::to_string(now.done);
  } else if (whole["type"].text() != agent::kAgentType && whole["type"].text() != plan::kPlanType) {
    now.in_records = true;
    now.done = whole["records"].number();
    now.message = whole["status"].text() + ", " + std::to_string(now.done) + " records in its log";
  } else {
    now.message = whole["status"].text();  // its code has not begun, or has ended meanwhile
  }
  const std::string waits = mcp_waits_of(door_, whole);
  if (!waits.empty()) now.message = waits;
  co_return now;
}

Task<void> McpProgress::tell(const Standing* standing) {
  told_ = true;
  told_at_ = mcp_now();
  std::string text =
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":" +
      token_ + ",\"progress\":" + progress_number(standing->done, beats_);
  if (standing->total > 0) text += ",\"total\":" + std::to_string(standing->total);
  text += ",\"message\":" + quoted_json(standing->message) + "}}";
  co_await listener_->tell(std::move(text));
}

}  // namespace tiffany::app
