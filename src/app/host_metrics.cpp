// What the daemon tells of its durable tasks through metrics.
#include "app/host_metrics.hpp"

namespace tiffany::app {

observe::Metrics::Collector collect(observe::Metrics& metrics, const Api& api,
                                    const DurableEvents& events) {
  return metrics.collect([&api, &events](observe::Sample& out) {
    if (api.phase() == Api::Phase::starting) return;  // the log is being read
    Host& host = api.parts.host;
    const StatusCounts counts = host.counts();
    out.head(observe::MetricType::gauge, "tiffany_durable_tasks",
             "Durable tasks of the log, by status.");
    for (std::size_t i = 0; i < StatusCounts::kStatuses; ++i) {
      const auto each = static_cast<DurableStatus>(i);
      out.series({{"status", tiffany::name_of(each)}}, std::uint64_t{counts[each]});
    }
    const wal::StoreCounters& log = host.store().counters();
    out.counter("tiffany_wal_records_total", "Records that were appended to the log.", log.records);
    out.counter("tiffany_wal_append_bytes_total", "Bytes that were appended to the log.",
                log.bytes);
    out.counter("tiffany_wal_syncs_total", "How often the log waited for its disk.", log.syncs);
    out.gauge("tiffany_wal_sealed", "1: the log could not write, and takes no more records.",
              host.store().sealed() ? 1.0 : 0.0);
    out.gauge("tiffany_daemon_ready", "1: the daemon takes changes.",
              api.phase() == Api::Phase::ready ? 1.0 : 0.0);
    out.counter("tiffany_events_untold_total",
                "Events of durable tasks that found no room before they were told.",
                events.untold());
  });
}

}  // namespace tiffany::app
