// The tasks that fit a filter, as rows that are asked for when they are looked at: pages follow
// each other by cursors, and only those near the window are kept.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get } from './api';
import type { Counts, Task, TaskPage } from './api_types';
import { changed, connection } from './live';

export const pageSize = 100;
export const rowHeight = 29; // as in style.css
const overscan = 12; // rows above and below the window
const keptPages = 6; // on each side of the window

interface Page {
  after: string; // the cursor that gives it
  tasks: Task[] | null; // null: not loaded, or dropped
  size: number;
  as: number; // of `changed`
}

export interface Rows {
  known: number; // rows whose pages were seen
  more: boolean; // there are others behind them
  first: number; // of those to draw
  shown: (Task | null)[]; // from there on; null: is being loaded
  loaded: Task[]; // that are kept
  counts: Counts | null;
  error: ApiError | null;
  reveal: (row: number) => void;
  at: (row: number) => Task | undefined;
}

const blank = (after: string): Page => ({ after, tasks: null, size: pageSize, as: -1 });

// Puts a page that came in its place. When the next one begins elsewhere by now, what is known
// behind it is forgotten.
export function withPage(all: Page[], i: number, came: TaskPage, as: number): Page[] {
  const page = { after: all[i].after, tasks: came.tasks, size: came.tasks.length, as };
  const before = [...all.slice(0, i), page];
  if (came.next === undefined) return before;
  if (all[i + 1]?.after === came.next) return [...before, ...all.slice(i + 1)];
  // What stood there is shown until the page that begins at the new cursor comes.
  return [...before, { ...(all[i + 1] ?? blank('')), after: came.next, as: -1 }];
}

// Pages far from the window are dropped; where they begin is remembered.
export function withoutFar(all: Page[], from: number, to: number): Page[] {
  return all.map((page, i) =>
    page.tasks && (i < from - keptPages || i > to + keptPages) ? { ...page, tasks: null } : page,
  );
}

// `path` has everything but the cursor.
export function useRows(path: string, box: { current: HTMLElement | null }): Rows {
  const [state, setState] = useState({ path, pages: [blank('')] });
  const [counts, setCounts] = useState<Counts | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [window, setWindow] = useState({ top: 0, height: 600 });
  const asking = useRef(new Map<string, AbortController>());
  const pages = state.path === path ? state.pages : [blank('')];
  const { number } = changed.value;
  const live = connection.value.link === 'live';

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () =>
      setWindow((now) =>
        now.top === element.scrollTop && now.height === element.clientHeight
          ? now
          : { top: element.scrollTop, height: element.clientHeight },
      );
    look();
    element.addEventListener('scroll', look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      observer.disconnect();
    };
  }, [box.current]);
  useEffect(() => {
    box.current?.scrollTo(0, 0);
    setError(null);
  }, [path]);

  const known = pages.reduce((sum, page) => sum + (page.as < 0 && !page.tasks ? 0 : page.size), 0);
  const first = Math.max(0, Math.floor(window.top / rowHeight) - overscan);
  const last = Math.ceil((window.top + window.height) / rowHeight) + overscan;
  // Pages have a hundred rows each, but for the last one.
  const firstPage = Math.min(Math.floor(first / pageSize), pages.length - 1);
  const lastPage = Math.min(Math.floor(last / pageSize), pages.length - 1);

  useEffect(() => {
    for (let i = firstPage; i <= lastPage; i += 1) {
      const page = pages[i];
      const fresh = page.tasks !== null && page.as >= 0;
      if (fresh && page.as === number) continue;
      // Of a change that is about other tasks only, the first page alone may be older than it.
      const about = changed.value.tasks;
      const touched = about === null || i === 0 || page.tasks?.some((task) => about.has(task.id));
      if (fresh && page.as === number - 1 && !touched) {
        page.as = number; // nothing to draw anew
        continue;
      }
      const key = `${path} ${page.after}`;
      if (asking.current.has(key)) continue;
      const abort = new AbortController();
      asking.current.set(key, abort);
      const cursor = page.after ? `&after=${encodeURIComponent(page.after)}` : '';
      get<TaskPage>(path + cursor, abort.signal)
        .then((came) => {
          asking.current.delete(key);
          setCounts(came.counts);
          setError(null);
          setState((now) => {
            const mine = now.path === path ? now.pages : [blank('')];
            if (mine[i]?.after !== page.after) return { path, pages: [...mine] };
            return { path, pages: withoutFar(withPage(mine, i, came, number), i, i) };
          });
        })
        .catch((failure) => {
          asking.current.delete(key);
          if (abort.signal.aborted) return;
          setError(
            failure instanceof ApiError ? failure : new ApiError(0, '', String(failure)),
          );
        });
    }
  }, [path, number, live, firstPage, lastPage, state]);
  useEffect(
    () => () => {
      for (const each of asking.current.values()) each.abort();
      asking.current.clear();
    },
    [path],
  );

  const rowAt = (row: number): Task | null => {
    const page = pages[Math.floor(row / pageSize)];
    return page?.tasks?.[row % pageSize] ?? null;
  };
  const shown: (Task | null)[] = [];
  for (let row = first; row < Math.min(last, known); row += 1) shown.push(rowAt(row));
  return {
    known,
    more: pages[pages.length - 1].as < 0 && pages[0].as >= 0,
    first,
    shown,
    loaded: pages.flatMap((page) => page.tasks ?? []),
    counts,
    error,
    at: (row) => rowAt(row) ?? undefined,
    reveal: (row) => {
      const element = box.current;
      if (!element) return;
      const head = element.querySelector('thead')?.clientHeight ?? 0;
      const top = row * rowHeight;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top + rowHeight + head > element.scrollTop + element.clientHeight) {
        element.scrollTop = top + rowHeight + head - element.clientHeight;
      }
    },
  };
}
