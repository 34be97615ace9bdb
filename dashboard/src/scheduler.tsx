// The process: its scheduler over time, its system calls, and what each of its tasks waits for.
import { useEffect, useState } from 'preact/hooks';
import { getText } from './api';
import { AwaitTree } from './await_tree';
import { Chart } from './chart';
import { connection, frozen } from './live';
import { Card, Copy, Table } from './parts';
import { link } from './route';
import { number } from './text';

// "name{a="b"} 3" by name and labels.
export function metricsOf(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (!line || line.startsWith('#')) continue;
    const space = line.lastIndexOf(' ');
    found.set(line.slice(0, space), Number(line.slice(space + 1)));
  }
  return found;
}

interface Sample {
  at: number; // seconds
  values: Map<string, number>;
}

const every = 1000;
const kept = 300; // samples: five minutes

function useSamples(): Sample[] {
  const [samples, setSamples] = useState<Sample[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    const look = () => {
      if (frozen.value || connection.value.link !== 'live' || document.hidden) return;
      getText('/metrics', abort.signal)
        .then((text) =>
          setSamples((all) =>
            [...all, { at: Date.now() / 1000, values: metricsOf(text) }].slice(-kept),
          ),
        )
        .catch(() => undefined); // the header says that the daemon does not answer
    };
    look();
    const timer = setInterval(look, every);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, []);
  return samples;
}

const sum = (values: Map<string, number>, prefix: string): number => {
  let total = 0;
  for (const [name, value] of values) if (name.startsWith(prefix)) total += value;
  return total;
};

// Of a counter, for a second.
function rates(samples: Sample[], prefix: string): (number | null)[] {
  return samples.map((each, i) => {
    if (i === 0) return null;
    const before = samples[i - 1];
    const by = sum(each.values, prefix) - sum(before.values, prefix);
    return by < 0 ? null : by / (each.at - before.at);
  });
}

function Calls({ samples }: { samples: Sample[] }) {
  const last = samples.at(-1);
  const first = samples[Math.max(0, samples.length - 11)];
  if (!last) return null;
  const name = /^tiffany_syscalls_total\{syscall="(.*)"\}$/;
  const rows = [...last.values]
    .flatMap(([key, value]) => {
      const found = name.exec(key);
      if (!found) return [];
      const span = Math.max(1, last.at - first.at);
      return [
        { call: found[1], total: value, rate: (value - (first.values.get(key) ?? 0)) / span },
      ];
    })
    .sort((a, b) => b.rate - a.rate || b.total - a.total);
  const most = Math.max(1, ...rows.map((row) => row.rate));
  return (
    <Card title="System calls">
      <Table label="Table of calls" head={['Call', '#a second', '#since the start', 'Share']}>
        {rows.slice(0, 24).map((row) => (
          <tr key={row.call}>
            <td class="mono">{row.call}</td>
            <td class="num">{row.rate.toFixed(1)}</td>
            <td class="num">{number(row.total)}</td>
            <td class="share">
              <meter min={0} max={most} value={row.rate} aria-label={`Share of ${row.call}`} />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

export function SchedulerView() {
  const samples = useSamples();
  const times = samples.map((each) => each.at);
  const of = (name: string) => samples.map((each) => each.values.get(name) ?? 0);
  const waiting = (detail: string) => of(`tiffany_tasks{state="waiting",detail="${detail}"}`);
  const last = samples.at(-1)?.values;
  const figures: [string, string][] = [
    ['stalls', 'tiffany_stalls_total'],
    ['deadlocks', 'tiffany_deadlocks_total'],
    ['spawns denied', 'tiffany_spawn_denied_total'],
    ['budget throttles', 'task_budget_throttle_total'],
    ['failures nobody saw', 'tiffany_unseen_failures_total'],
    ['timers', 'tiffany_timers'],
    ['readers of events', 'tiffany_pal_subscribers'],
    ['events dropped', 'tiffany_pal_dropped_total'],
    ['bytes of tasks', 'tiffany_task_memory_bytes'],
  ];
  return (
    <section aria-label="Scheduler">
      <div class="bar">
        <h1>Scheduler</h1>
        <span class="grow" />
        <a href={link('timeline')}>Slice by slice</a>
        <Copy text="tiffany top" />
      </div>
      <div class="charts">
        <Chart
          title="Ready tasks"
          unit="in the queue"
          times={times}
          lines={[{ label: 'ready', values: of('scheduler_ready_queue_depth') }]}
        />
        <Chart
          title="Waiting tasks"
          unit=""
          times={times}
          lines={[
            { label: 'io', values: waiting('io') },
            { label: 'event', values: waiting('event') },
            { label: 'sleep', values: waiting('sleep') },
            { label: 'other', values: waiting('other') },
          ]}
        />
        <Chart
          title="Slices"
          unit="a second"
          times={times}
          lines={[{ label: 'run', values: rates(samples, 'tiffany_slices_total') }]}
        />
        <Chart
          title="Events of tasks"
          unit="a second"
          times={times}
          lines={[{ label: 'told', values: rates(samples, 'tiffany_pal_events_total') }]}
        />
        <Chart
          title="Log"
          unit="a second"
          times={times}
          lines={[
            { label: 'records', values: rates(samples, 'tiffany_wal_records_total') },
            { label: 'syncs', values: rates(samples, 'tiffany_wal_syncs_total') },
          ]}
        />
        <Chart
          title="Bytes of the log"
          unit="a second"
          times={times}
          lines={[{ label: 'written', values: rates(samples, 'tiffany_wal_append_bytes_total') }]}
        />
      </div>
      <dl class="figures">
        {figures.map(([label, name]) => (
          <div key={name}>
            <dt>{label}</dt>
            <dd>{number(last?.get(name) ?? 0)}</dd>
          </div>
        ))}
      </dl>
      <div class="columns">
        <AwaitTree />
        <Calls samples={samples} />
      </div>
    </section>
  );
}
