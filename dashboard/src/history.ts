// What the records of a task say: its steps, waits and end. docs/17-wal.md has the records.
import { useEffect, useState } from 'preact/hooks';
import { get } from './api';
import type { Records, Task } from './api_types';
import { micros } from './text';

export interface TaskRecord {
  ts: string;
  type: string;
  seq: number;
  loc?: string;
  cause?: number;
  op?: string;
  shape?: string; // of the value that is waited for
  id?: string;
  of?: string;
  step?: string;
  attempt?: number;
  attempts?: number;
  due?: string;
  until?: string;
  promise?: string;
  child?: string;
  result?: unknown;
  error?: string;
  reason?: string;
  name?: string;
  args?: unknown;
  from?: string;
  [more: string]: unknown;
}

// Logs of before have a second member "type" in a Command, the shape of the value that is waited
// for; JSON.parse gives that one.
export function typeOf(record: TaskRecord): string {
  return record.op !== undefined ? 'Command' : record.type;
}

export type Kind = 'step' | 'timer' | 'promise' | 'child' | 'signal';

// By the op of a Command; others are of no duration.
const kinds: Record<string, Kind> = {
  timer: 'timer',
  promise: 'promise',
  spawn: 'child',
  signal: 'signal',
};

export interface Attempt {
  number: number;
  began: number; // microseconds since 1970
  ended?: number;
}

// Something that the code of the task asked for.
export interface Asked {
  id: string; // "charge#1"
  kind: Kind;
  at: string; // file:line
  seq: number;
  began: number;
  ended?: number;
  attempts: Attempt[];
  failed: boolean;
  result?: unknown;
  record?: string; // the type of the record that has the result
  error?: string;
  uuid?: string; // of a promise or a child
  shape?: string; // of the value that a promise waits for
  until?: string;
}

export interface Story {
  args?: unknown;
  asked: Asked[];
  began: number;
  ended?: number;
  last: number; // time of the last record
}

function end(asked: Asked, record: TaskRecord): void {
  asked.ended = micros(record.ts);
  const attempt = asked.attempts.at(-1);
  if (attempt) attempt.ended = asked.ended;
  if (record.error !== undefined) {
    asked.failed = true;
    asked.error = String(record.error);
  } else {
    asked.result = record.result;
    asked.record = record.type;
  }
}

export function storyOf(records: TaskRecord[]): Story {
  let asked = new Map<string, Asked>();
  const story: Story = { asked: [], began: 0, last: 0 };
  const add = (id: string, kind: Kind, record: TaskRecord): Asked => {
    const known = asked.get(id);
    if (known) return known;
    const made: Asked = {
      id,
      kind,
      at: record.loc ?? '',
      seq: record.seq,
      began: micros(record.ts),
      attempts: [],
      failed: false,
    };
    asked.set(id, made);
    return made;
  };
  // Who takes a signal: the first that waits for one of its name.
  const listener = (name: unknown): Asked | undefined =>
    [...asked.values()].find(
      (each) =>
        each.kind === 'signal' && each.ended === undefined && each.id.startsWith(`${name}#`),
    );
  for (const record of records) {
    const time = micros(record.ts);
    if (!story.began) story.began = time;
    story.last = time;
    switch (typeOf(record)) {
      case 'Spawn':
        story.args = record.args;
        break;
      case 'StepStart': {
        const step = add(record.step!, 'step', record);
        const last = step.attempts.at(-1);
        // An attempt that was planned is told again when it begins.
        if (last && last.number === record.attempt) {
          last.began = Math.max(last.began, time);
          break;
        }
        if (last && last.ended === undefined) last.ended = time;
        // A first attempt that did not wait for anything has no record of its own.
        if (!last && (record.attempt ?? 1) > 1) {
          step.attempts.push({ number: record.attempt! - 1, began: time, ended: time });
        }
        const began = record.due ? micros(record.due) : time;
        step.attempts.push({ number: record.attempt ?? 1, began });
        break;
      }
      case 'StepEnd':
      case 'InstructionStart':
      case 'LLMPlan':
      case 'ToolResult':
      case 'PatchPreview':
      case 'Commit':
      case 'TaskComplete':
        end(add(record.step!, 'step', record), record);
        break;
      case 'Command':
        if (record.op === 'retry') {
          const kept = [...asked.values()];
          const from = kept.findIndex((each) => each.id === record.from);
          if (from >= 0) asked = new Map(kept.slice(0, from).map((each) => [each.id, each]));
          story.ended = undefined;
        } else if (kinds[record.op!]) {
          const made = add(record.id!, kinds[record.op!], record);
          made.uuid = record.promise ?? record.child;
          made.until = record.until;
          made.shape = record.shape ?? record.type;
        }
        break;
      case 'Resumed':
      case 'Approval': {
        const known = record.signal ? listener(record.signal) : asked.get(record.of ?? '');
        if (known) end(known, { ...record, result: record.signal ? record.value : record.result });
        break;
      }
      case 'TaskExit':
      case 'TaskAbort':
        story.ended = time;
        break;
    }
  }
  story.asked = [...asked.values()];
  return story;
}

// ---- The records of a task that is shown ----

const firstLoad = 2000;
const pageSize = 1000;

export interface Loaded {
  id: string;
  records: TaskRecord[];
  from: number; // those up to this number were not loaded
  complete: boolean;
  loadAll: () => void;
}

async function pages(id: string, after: number, most: number, abort: AbortSignal) {
  const found: TaskRecord[] = [];
  for (let next: number | undefined = after; next !== undefined && found.length < most;) {
    const page: Records = await get(`/tasks/${id}/records?after=${next}&limit=${pageSize}`, abort);
    found.push(...(page.records as unknown as TaskRecord[]));
    next = page.next;
  }
  return found;
}

// The newest records, and those that come.
export function useRecords(task: Task | null, changes: number): Loaded {
  const [loaded, setLoaded] = useState({ id: '', records: [] as TaskRecord[], from: 0 });
  const [all, setAll] = useState(false);
  const id = task?.id ?? '';
  useEffect(() => setAll(false), [id]);
  useEffect(() => {
    if (!task) return;
    const abort = new AbortController();
    const known = loaded.id === id && !(all && loaded.from > 0);
    const from = known ? loaded.from : all ? 0 : Math.max(0, (task.records ?? 0) - firstLoad);
    const after = known ? (loaded.records.at(-1)?.seq ?? from) : from;
    pages(id, after, Infinity, abort.signal)
      .then((more) => {
        if (abort.signal.aborted) return;
        setLoaded({ id, from, records: known ? [...loaded.records, ...more] : more });
      })
      .catch(() => undefined); // the view says that the daemon does not answer
    return () => abort.abort();
    // Of a task that has left the log the number of records is not told.
  }, [id, task?.records, task?.status, all, task?.records === undefined ? changes : 0]);
  const records = loaded.id === id ? loaded.records : [];
  return {
    id,
    records,
    from: loaded.from,
    complete: loaded.from === 0,
    loadAll: () => setAll(true),
  };
}
