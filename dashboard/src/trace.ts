// A task as a file for Perfetto and chrome://tracing: a row for each step and wait.
import type { Task } from './api_types';
import type { Story } from './history';

interface TraceEvent {
  name: string;
  ph: 'X' | 'M' | 'i';
  pid: number;
  tid: number;
  ts?: number; // microseconds
  dur?: number;
  cat?: string;
  s?: string;
  args?: Record<string, unknown>;
}

// `now`: in microseconds, where what is under way ends.
export function traceOf(task: Task, story: Story, now: number): { traceEvents: TraceEvent[] } {
  const events: TraceEvent[] = [
    { name: 'process_name', ph: 'M', pid: 1, tid: 0, args: { name: `${task.type} ${task.id}` } },
  ];
  const end = story.ended ?? now;
  const bar = (name: string, tid: number, from: number, to: number, more: object): TraceEvent => ({
    name,
    ph: 'X',
    pid: 1,
    tid,
    ts: from,
    dur: Math.max(0, to - from),
    ...more,
  });
  events.push(bar(task.type, 0, story.began, end, { cat: 'task' }));
  story.asked.forEach((asked, i) => {
    const tid = i + 1;
    events.push({ name: 'thread_name', ph: 'M', pid: 1, tid, args: { name: asked.id } });
    const args = {
      at: asked.at,
      record: asked.seq,
      ...(asked.failed ? { error: asked.error } : { result: asked.result }),
    };
    const more = { cat: asked.kind, args };
    // Attempts do not overlap: a row has one bar at a time.
    if (asked.attempts.length > 1) {
      for (const each of asked.attempts) {
        events.push(bar(`attempt ${each.number}`, tid, each.began, each.ended ?? end, more));
      }
    } else {
      events.push(bar(asked.id, tid, asked.began, asked.ended ?? end, more));
    }
    if (asked.failed) {
      events.push({ name: 'failed', ph: 'i', pid: 1, tid, ts: asked.ended ?? end, s: 't' });
    }
  });
  return { traceEvents: events };
}
