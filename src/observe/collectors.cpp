#include "tiffany/observe/collectors.hpp"

#include "tiffany/observe/log.hpp"

namespace tiffany::observe {

namespace {

void write_scheduler(Sample& out, const Scheduler& scheduler) {
  const Counters counted = scheduler.counters();
  const auto live = static_cast<std::uint64_t>(scheduler.live_tasks());
  const auto ready = static_cast<std::uint64_t>(scheduler.ready_len());
  const std::uint64_t running = scheduler.running() != nullptr ? 1 : 0;

  // One number under the three names that others know it by.
  out.gauge("scheduler_ready_queue_depth", "Tasks that could run now.", static_cast<double>(ready));
  out.gauge("scheduler_ready_depth", "Tasks that could run now.", static_cast<double>(ready));
  out.gauge("tasks_running_total", "Tasks that have not ended.", static_cast<double>(live));

  out.head(MetricType::gauge, "tiffany_tasks", "Tasks that have not ended, by state.");
  out.series({{"state", "ready"}}, ready);
  out.series({{"state", "running"}}, running);
  for (std::size_t kind = 0; kind < kWaitKinds; ++kind) {
    const char* const waits_for = name_of(static_cast<WaitKind>(kind));
    out.series({{"state", "waiting"}, {"detail", waits_for}}, counted.waiting[kind]);
  }
  out.series({{"state", "waiting"}, {"detail", "after"}}, counted.held);
  out.counter("tiffany_tasks_spawned_total", "Tasks that were spawned.", counted.admitted);
  out.head(MetricType::counter, "tiffany_tasks_finished_total", "Tasks that have ended.");
  out.series({{"outcome", "ok"}}, counted.completed);
  out.series({{"outcome", "failed"}}, counted.failed);
  out.series({{"outcome", "cancelled"}}, counted.cancelled);
  out.counter("tiffany_slices_total", "How often a task was given the processor.", counted.runs);
  out.head(MetricType::counter, "tiffany_waits_total", "Waits that began, by what was awaited.");
  for (std::size_t kind = 0; kind < kWaitKinds; ++kind) {
    out.series({{"for", name_of(static_cast<WaitKind>(kind))}}, counted.parks_by[kind]);
  }
  out.head(MetricType::counter, "tiffany_wakes_total", "Waits that ended, by what ended them.");
  for (std::size_t kind = 0; kind < kWaitKinds; ++kind) {
    out.series({{"by", name_of(static_cast<WaitKind>(kind))}}, counted.wakes_by[kind]);
  }
  out.series({{"by", "cancel"}}, counted.withdrawn);
  out.head(MetricType::counter, "tiffany_syscalls_total", "System calls that tasks made, by name.");
  scheduler.for_each_call([&out](std::string_view name, std::uint64_t count) {
    out.series({{"syscall", name}}, count);
  });
  out.counter("tiffany_cancels_total", "Tasks that were asked to stop.", counted.cancels);
  out.counter("task_budget_throttle_total",
              "How often a task spent its quantum and had to let others go first.",
              counted.throttled);
  out.counter("tiffany_spawn_denied_total", "Spawns that a limit denied.", counted.denied);
  out.counter("tiffany_stalls_total", "Slices that took longer than the limit.", counted.hogs);
  out.counter("tiffany_unseen_failures_total", "Failures that nobody looked at.",
              counted.unseen_failures);
  out.counter("tiffany_deadlocks_total", "Closed circles of waits that were found.",
              counted.circles);
  out.gauge("tiffany_timers", "Timers that are armed.",
            static_cast<double>(scheduler.armed_timers()));
  out.gauge("tiffany_external_promises", "Promises that are to be kept from outside.",
            static_cast<double>(scheduler.pending_externals()));
  out.gauge("tiffany_task_memory_bytes", "Memory of tasks: records, frames, what they keep.",
            static_cast<double>(scheduler.arena().live_bytes()));
}

void write_pal(Sample& out, const Pal& pal) {
  const PalCounts counted = pal.counts();
  out.head(MetricType::counter, "tiffany_pal_events_total", "Events that were emitted.");
  for (const PalKind kind : {PalKind::agent, PalKind::sched, PalKind::runtime}) {
    out.series({{"kind", name_of(kind)}}, counted.events[static_cast<std::size_t>(kind)]);
  }
  out.counter("tiffany_pal_dropped_total", "Events that found the queue of a reader full.",
              counted.dropped);
  out.gauge("tiffany_pal_subscribers", "Readers of events.",
            static_cast<double>(counted.subscribers));
  out.gauge("tiffany_pal_channels", "Tasks that events were emitted for and that go on.",
            static_cast<double>(counted.channels));
}

void write_tracer(Sample& out, const Tracer& tracer) {
  out.counter("tiffany_spans_total", "Spans that have ended.", tracer.count());
  out.counter("tiffany_spans_dropped_total", "Spans that nobody took in time.", tracer.dropped());
  out.gauge("tiffany_spans_open", "Spans that have not ended.", static_cast<double>(tracer.open()));
}

void write_process(Sample& out) {
  const log::Counts counted = log::counts();
  out.head(MetricType::gauge, "tiffany_build_info", "Which Tiffany this is.");
  out.series({{"version", "0.1.0"}}, std::uint64_t{1});
  out.counter("tiffany_log_lines_total", "Lines that were given to the log.", counted.lines);
  out.head(MetricType::counter, "tiffany_log_lost_total", "Lines that were not written.");
  out.series({{"why", "no_room"}}, counted.dropped);
  out.series({{"why", "rate_limit"}}, counted.suppressed);
  out.series({{"why", "write_failed"}}, counted.failed);
}

}  // namespace

Metrics::Collector collect(Metrics& metrics, const Scheduler& scheduler) {
  return metrics.collect([&scheduler](Sample& out) { write_scheduler(out, scheduler); });
}
Metrics::Collector collect(Metrics& metrics, const Pal& pal) {
  return metrics.collect([&pal](Sample& out) { write_pal(out, pal); });
}
Metrics::Collector collect(Metrics& metrics, const Tracer& tracer) {
  return metrics.collect([&tracer](Sample& out) { write_tracer(out, tracer); });
}
Metrics::Collector collect_process(Metrics& metrics) { return metrics.collect(write_process); }

}  // namespace tiffany::observe
