// What a recording of the process says (GET /trace): who ran, was ready and waited when, and who
// made whom ready.
import type { Arrow, Bar } from './gantt_draw';

interface TraceEvent {
  name: string;
  ph: string; // X: a slice; b, e: a wait; s, f: a wake; M: the name of a row; i: a failure
  tid: number; // the slot of the task
  ts: number; // microseconds
  dur?: number;
  cat?: string;
  id?: number;
  args?: { name?: string };
}

// `name`: of the task for a slice, of the call for a wait.
export interface ProcessBar extends Bar {
  name: string;
}

export interface ProcessTrace {
  rows: string[];
  bars: ProcessBar[];
  wakes: Arrow[];
  began: number;
  ended: number;
  slices: number[]; // how long each ran, in microseconds, shortest first
  delays: number[]; // from wake to run, in microseconds, shortest first
}

const waits = new Set(['sleep', 'io', 'event', 'join', 'external']);

// The end of a wait is when the task is ready; the next slice in its row is its own, because a
// slot is given to another task only when the task has ended.
function withReady(row: ProcessBar[]): ProcessBar[] {
  row.sort((a, b) => a.began - b.began);
  const all: ProcessBar[] = [];
  row.forEach((bar, i) => {
    all.push(bar);
    const next = row[i + 1];
    if (bar.kind === 'run' || next?.kind !== 'run' || next.began <= bar.ended) return;
    all.push({ ...bar, name: next.name, kind: 'ready', began: bar.ended, ended: next.began });
  });
  return all;
}

export function readTrace(events: TraceEvent[]): ProcessTrace {
  const byTid = new Map<number, ProcessBar[]>();
  const names = new Map<number, string>();
  const open = new Map<number, TraceEvent>();
  const flows = new Map<number, TraceEvent>();
  const links: [TraceEvent, TraceEvent][] = [];
  const add = (tid: number, name: string, kind: string, began: number, ended: number) => {
    const row = byTid.get(tid);
    const bar = { row: 0, name, kind, began, ended };
    if (row) row.push(bar);
    else byTid.set(tid, [bar]);
  };
  let began = Infinity;
  let ended = -Infinity;
  for (const event of events) {
    if (event.ts !== undefined) {
      began = Math.min(began, event.ts);
      ended = Math.max(ended, event.ts + (event.dur ?? 0));
    }
    if (event.ph === 'M') names.set(event.tid, event.args?.name ?? '');
    else if (event.ph === 'X')
      add(event.tid, event.name, 'run', event.ts, event.ts + (event.dur ?? 0));
    else if (event.ph === 'b') open.set(event.tid, event);
    else if (event.ph === 'e') {
      // By the slot, which has one task at a time: ids have 64 bits, numbers of a page 53.
      const begin = open.get(event.tid);
      if (!begin) continue;
      open.delete(event.tid);
      const kind = waits.has(begin.cat ?? '') ? begin.cat! : 'other';
      add(event.tid, begin.name, kind, begin.ts, event.ts);
    } else if (event.ph === 's') flows.set(event.id!, event);
    else if (event.ph === 'f') {
      const from = flows.get(event.id!);
      if (from) links.push([from, event]);
    } else if (event.ph === 'i') add(event.tid, 'failed', 'failed', event.ts, event.ts);
  }
  const tids = [...byTid.keys()].sort((a, b) => a - b);
  const place = new Map(tids.map((tid, row) => [tid, row]));
  const bars = tids.flatMap((tid, row) =>
    withReady(byTid.get(tid)!).map((bar) => ({ ...bar, row })),
  );
  const wakes: Arrow[] = [];
  for (const [from, to] of links) {
    const [a, b] = [place.get(from.tid), place.get(to.tid)];
    if (a !== undefined && b !== undefined)
      wakes.push({ from: a, left: from.ts, to: b, right: to.ts });
  }
  wakes.sort((a, b) => a.right - b.right);
  const inOrder = (values: number[]) => values.sort((a, b) => a - b);
  const took = (kind: string) =>
    inOrder(bars.filter((bar) => bar.kind === kind).map((bar) => bar.ended - bar.began));
  return {
    rows: tids.map((tid) => names.get(tid) ?? `#${tid}`),
    bars,
    wakes,
    began: bars.length > 0 ? began : 0,
    ended: bars.length > 0 ? ended : 0,
    slices: took('run'),
    delays: took('ready'),
  };
}

// Of values in order: that which `share` of them do not exceed.
export function quantile(values: number[], share: number): number {
  if (values.length === 0) return 0;
  return values[Math.max(0, Math.ceil(values.length * share) - 1)];
}

// How many values are in each power of two, from the first to the last that has any.
export function buckets(values: number[]): { below: number; count: number }[] {
  const found = new Map<number, number>();
  for (const value of values) {
    const power = Math.max(0, Math.ceil(Math.log2(Math.max(1, value))));
    found.set(power, (found.get(power) ?? 0) + 1);
  }
  const powers = [...found.keys()];
  const all: { below: number; count: number }[] = [];
  for (let i = Math.min(...powers); i <= Math.max(...powers); i += 1)
    all.push({ below: 2 ** i, count: found.get(i) ?? 0 });
  return all;
}
