// Staying in step with the daemon: one stream of events for the tab, and requests made again when
// an event says that what they gave is old (docs/decisions/0029-dashboard.md).
import { effect, signal, type Signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, base, get, headers, info, token } from './api';
import type { Counts, Info } from './api_types';

export type Link = 'connecting' | 'live' | 'reconnecting' | 'starting' | 'denied';
export interface Connection {
  link: Link;
  since: number; // milliseconds since 1970
  why: string;
}

export const connection = signal<Connection>({ link: 'connecting', since: Date.now(), why: '' });
// The operator stopped updates; events are counted meanwhile.
export const frozen = signal(false);
export const held = signal(0);
export const dropped = signal(0);
export const counts = signal<Counts>({});

// What changed: a number that grows, and which tasks it was about. `null`: anything may have.
export interface Change {
  number: number;
  tasks: Set<string> | null;
}
export const changed: Signal<Change> = signal({ number: 0, tasks: null });

// At most one round of requests in this time, in milliseconds, however many events come.
const shortestRound = 1000;
// The first event after a quiet time is not shown alone: others come with it.
const firstDelay = 40;

let pending: Set<string> | null = new Set();
let timer: ReturnType<typeof setTimeout> | undefined;
let lastRound = 0;

function flush(): void {
  timer = undefined;
  if (frozen.value) return;
  lastRound = Date.now();
  const tasks = pending;
  pending = new Set();
  held.value = 0;
  changed.value = { number: changed.value.number + 1, tasks };
}

function note(task: string | null): void {
  if (task === null) pending = null;
  else pending?.add(task);
  if (frozen.value) {
    held.value += 1;
    return;
  }
  if (timer !== undefined) return;
  const wait = Math.max(firstDelay, lastRound + shortestRound - Date.now());
  timer = setTimeout(flush, wait);
}

// Everything is asked for again, now: after an action of this tab.
export function refresh(): void {
  pending = null;
  if (timer !== undefined) clearTimeout(timer);
  flush();
}

export function freeze(yes: boolean): void {
  frozen.value = yes;
  if (!yes) refresh();
}

// ---- The stream ----

function become(link: Link, why = ''): void {
  const now = connection.value;
  if (now.link === link && now.why === why) return;
  connection.value = { link, since: now.link === link ? now.since : Date.now(), why };
}

interface Frame {
  id: string;
  event: string;
  data: string;
}

// Server-sent events: fields up to an empty line. Lines with a colon in front are comments.
export class FrameReader {
  private rest = '';
  private frame: Frame = { id: '', event: '', data: '' };

  take(text: string): Frame[] {
    const frames: Frame[] = [];
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (this.frame.data) frames.push(this.frame);
        this.frame = { id: '', event: '', data: '' };
        continue;
      }
      const colon = line.indexOf(': ');
      const name = line.slice(0, colon);
      if (name === 'id' || name === 'event' || name === 'data') {
        this.frame[name] += line.slice(colon + 2);
      }
    }
    return frames;
  }
}

let lastId = '';
// Events in the order in which they came, for the tests of the browser.
export const stream = { events: 0, resyncs: 0 };

function take(frame: Frame): void {
  if (frame.id) lastId = frame.id;
  if (frame.event === 'pal') {
    stream.events += 1;
    const event = JSON.parse(frame.data) as { task_id?: string; stage?: string };
    note(event.task_id ?? null);
    if (event.stage === 'ShutdownBegin') become('reconnecting', 'The daemon ended.');
    return;
  }
  stream.resyncs += 1;
  if (frame.event === 'lagged') {
    dropped.value += (JSON.parse(frame.data) as { dropped: number }).dropped;
  }
  if (frame.event === 'snapshot') {
    counts.value = (JSON.parse(frame.data) as { counts: Counts }).counts;
  }
  note(null);
}

// The daemon says something every 15 seconds; a stream that is silent for longer is dead.
const longestSilence = 35_000;

async function readStream(abort: AbortController): Promise<void> {
  const answer = await fetch(`${base}/pal?kind=agent,runtime`, {
    headers: headers(lastId ? { 'last-event-id': lastId } : {}),
    signal: abort.signal,
    cache: 'no-store',
  });
  if (!answer.ok || !answer.body) {
    const problem = (await answer.json().catch(() => ({}))) as { detail?: string };
    throw new ApiError(answer.status, '', problem.detail ?? `status ${answer.status}`);
  }
  become('live');
  const frames = new FrameReader();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let silence: ReturnType<typeof setTimeout> | undefined;
  const listen = () => {
    clearTimeout(silence);
    silence = setTimeout(() => abort.abort(), longestSilence);
  };
  try {
    for (listen(); ; listen()) {
      const { done, value } = await reader.read();
      if (done) return;
      frames.take(value).forEach(take);
    }
  } finally {
    clearTimeout(silence);
  }
}

async function loadInfo(): Promise<void> {
  info.value = await get<Info>('/info');
  counts.value = info.value.counts ?? {};
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

async function follow(abort: AbortController): Promise<void> {
  // Tries again after a quarter of a second, then half, ... up to this many milliseconds.
  const longestWait = 5000;
  let wait = 250;
  while (!abort.signal.aborted) {
    const one = new AbortController();
    abort.signal.addEventListener('abort', () => one.abort(), { signal: one.signal });
    let why = 'The connection was closed.';
    try {
      await loadInfo();
      wait = 250;
      await readStream(one);
    } catch (error) {
      if (abort.signal.aborted) return;
      if (error instanceof ApiError) {
        why = error.message;
        if (error.status === 401 || error.status === 403) {
          become('denied', error.message);
          return;
        }
        if (error.status === 503) {
          become('starting', error.message);
          await sleep(wait);
          continue;
        }
      } else {
        why = 'The daemon does not answer.';
      }
    } finally {
      one.abort();
    }
    if (abort.signal.aborted) return;
    become('reconnecting', why);
    await sleep(wait);
    wait = Math.min(wait * 2, longestWait);
  }
}

// Connects with the token of the tab, and anew when the token is another one.
export function startLive(): void {
  let abort: AbortController | undefined;
  effect(() => {
    void token.value;
    abort?.abort();
    abort = new AbortController();
    lastId = '';
    void follow(abort);
  });
}

// ---- What views ask ----

export interface Answer<T> {
  data: T | null;
  error: ApiError | null;
  at: number; // when the data came; 0: not yet
}

// The answer of a GET, asked again when it is old. `about`: only changes of this task make it old.
// `rest`: at least so many milliseconds between two requests, for what costs the daemon more.
export function useAsk<T>(path: string | null, about?: string, rest = 0): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T> & { path: string | null }>({
    path,
    data: null,
    error: null,
    at: 0,
  });
  const number = changed.value.number;
  const tasks = changed.value.tasks;
  const old = tasks === null || about === undefined || tasks.has(about);
  const [asked, setAsked] = useState(0);
  const later = useRef<ReturnType<typeof setTimeout>>(undefined);
  const lastAsked = useRef(0);
  useEffect(() => () => clearTimeout(later.current), []);
  useEffect(() => {
    if (!old) return;
    const wait = lastAsked.current + rest - Date.now();
    if (wait <= 0) {
      setAsked(number);
    } else {
      later.current ??= setTimeout(() => {
        later.current = undefined;
        setAsked(changed.value.number);
      }, wait);
    }
  }, [number]);
  const link = connection.value.link;
  useEffect(() => {
    if (path === null) return;
    lastAsked.current = Date.now();
    const abort = new AbortController();
    get<T>(path, abort.signal)
      .then((data) => setAnswer({ path, data, error: null, at: Date.now() }))
      .catch((error) => {
        if (abort.signal.aborted) return;
        const failed = error instanceof ApiError ? error : new ApiError(0, '', String(error));
        setAnswer((last) => ({
          ...(last.path === path ? last : { data: null, at: 0 }),
          path,
          error: failed,
        }));
      });
    return () => abort.abort();
  }, [path, asked, link === 'live']);
  return answer.path === path ? answer : { data: null, error: null, at: 0 };
}
