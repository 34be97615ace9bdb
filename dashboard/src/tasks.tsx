// All tasks: counts by status, a filter, a table of which only the rows in sight exist, and what
// can be done to several.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, can, type Verb } from './actions';
import { query } from './api';
import type { PlanUnit, Task, Types } from './api_types';
import { FilterBar, StatusCounts } from './filters';
import { counts, useAsk } from './live';
import { Badge, Button, Empty, Failure, TaskLink, useKeys, When } from './parts';
import { planType } from './plan_run';
import { go, link, refine, route } from './route';
import { pageSize, rowHeight, useRows } from './rows';
import { json, number } from './text';

// How a plan ended: how many of its steps in which state.
function briefOfPlan(units: PlanUnit[]): string {
  const states = new Map<string, number>();
  for (const { state } of units) states.set(state, (states.get(state) ?? 0) + 1);
  const words = [...states].map(([state, count], i) =>
    i > 0 ? `${count} ${state}` : `${count} ${count === 1 ? 'step' : 'steps'} ${state}`,
  );
  return words.join(', ');
}

export function briefOfTask(task: Task): string {
  if (task.status !== 'completed') return task.detail ?? '';
  const units = (task.result as { units?: unknown } | null | undefined)?.units;
  if (task.type === planType && Array.isArray(units)) return briefOfPlan(units);
  return task.result === undefined ? '' : json(task.result);
}

function Row({
  task,
  row,
  chosen,
  choose,
  at,
}: {
  task: Task | null;
  row: number;
  chosen: boolean;
  choose: (task: Task, yes: boolean) => void;
  at: boolean;
}) {
  if (!task) {
    return (
      <tr aria-rowindex={row + 2}>
        <td colSpan={6} class="dim">
          …
        </td>
      </tr>
    );
  }
  return (
    <tr class={at ? 'at' : ''} data-task={task.id} aria-rowindex={row + 2}>
      <td>
        <input
          type="checkbox"
          checked={chosen}
          aria-label={`Select ${task.type} ${task.id}`}
          onChange={(event) => choose(task, event.currentTarget.checked)}
        />
      </td>
      <td>
        <Badge status={task.status} />
      </td>
      <td>
        <TaskLink id={task.id} />
      </td>
      <td class="name">
        {task.type}
        {task.type === planType && ` ${String(task.attributes?.plan ?? '')}`}
        {task.key && <span class="dim"> {task.key}</span>}
      </td>
      <td>
        <When at={task.began} />
      </td>
      <td class="detail" title={briefOfTask(task)}>
        {briefOfTask(task)}
      </td>
    </tr>
  );
}

// In the place of rows that are out of sight.
function Space({ rows }: { rows: number }) {
  return rows <= 0 ? null : (
    <tr class="space" aria-hidden="true">
      <td colSpan={6} style={{ height: `${rows * rowHeight}px` }} />
    </tr>
  );
}

const verbs: Verb[] = ['pause', 'resume', 'cancel', 'kill'];

function Bulk({ selected, clear }: { selected: Task[]; clear: () => void }) {
  return (
    <>
      {verbs.map((verb) => {
        const those = selected.filter((task) => can(verb, task));
        return (
          <Button
            key={verb}
            disabled={those.length === 0}
            class={verb === 'cancel' || verb === 'kill' ? 'danger' : ''}
            onClick={() => ask(verb, those)}
          >
            {verb}
            {those.length > 0 ? ` ${those.length}` : ''}
          </Button>
        );
      })}
      {selected.length > 0 && (
        <Button class="quiet" onClick={clear}>Select none</Button>
      )}
    </>
  );
}

// Of how many tasks the table is a part, where that is known without asking.
function totalOf(at: Record<string, string>): number | undefined {
  if (at.type || at.key || at.parent || at.attribute) return undefined;
  if (at.status) return counts.value[at.status] ?? 0;
  return Object.values(counts.value).reduce((sum, each) => sum + each, 0);
}

export function Tasks() {
  const { query: at } = route.value;
  const oldest = at.order === 'oldest';
  const path =
    '/tasks' +
    query({
      status: at.status,
      type: at.type,
      key: at.key,
      parent: at.parent,
      attribute: at.attribute,
      limit: pageSize,
      order: oldest ? 'oldest' : 'newest',
    });
  const table = useRef<HTMLDivElement>(null);
  const rows = useRows(path, table);
  const types = useAsk<Types>('/types', 'types').data?.types.map((each) => each.name) ?? [];
  const [chosen, setChosen] = useState(new Map<string, Task>());
  const [cursor, setCursor] = useState(-1);
  const wanted = useRef(-1); // where the cursor goes: keys can come faster than it is drawn
  useEffect(() => {
    if (rows.counts) counts.value = rows.counts;
  }, [rows.counts]);
  useEffect(() => {
    setChosen(new Map());
    setCursor((wanted.current = -1));
  }, [path]);

  const choose = (task: Task, yes: boolean) =>
    setChosen((now) => {
      const next = new Map(now);
      if (yes) next.set(task.id, task);
      else next.delete(task.id);
      return next;
    });
  useKeys((key) => {
    const task = rows.at(wanted.current);
    if (key === 'j' || key === 'k') {
      const by = key === 'j' ? 1 : -1;
      wanted.current = Math.max(0, Math.min(rows.known - 1, wanted.current + by));
      setCursor(wanted.current);
      rows.reveal(wanted.current);
    } else if (key === 'Enter' && task && document.activeElement === document.body) {
      go(`task/${task.id}`);
    } else if (key === 'x' && task) {
      choose(task, !chosen.has(task.id));
    }
  });

  // As they are now, where that is known.
  const now = new Map(rows.loaded.map((task) => [task.id, task]));
  const selected = [...chosen.values()].map((task) => now.get(task.id) ?? task);
  const total = totalOf(at);
  const end = rows.first + rows.shown.length;
  const all = rows.loaded.length > 0 && rows.loaded.every((task) => chosen.has(task.id));
  const empty = rows.counts !== null && rows.known === 0;
  return (
    <section aria-label="Tasks">
      <h1 class="sr">Tasks</h1>
      <StatusCounts chosen={at.status ?? ''} />
      <FilterBar types={types} />
      {rows.error && rows.known === 0 && <Failure error={rows.error} />}
      {empty && <NoTasks filtered={Object.keys(at).length > 0} />}
      {rows.known > 0 && (
        <div class="bar">
          <span>
            {selected.length > 0
              ? `${selected.length} selected`
              : `${number(rows.known)}${rows.more ? '+' : ''}${
                  total === undefined ? '' : ` of ${number(Math.max(total, rows.known))}`
                }, ${oldest ? 'oldest' : 'newest'} first`}
          </span>
          <Bulk selected={selected} clear={() => setChosen(new Map())} />
          <span class="grow" />
          <Button disabled={end < 100} onClick={() => rows.reveal(0)}>To the top</Button>
        </div>
      )}
      <div
        class="scroll virtual"
        hidden={rows.known === 0}
        ref={table}
        tabIndex={0}
        role="region"
        aria-label="Table of tasks"
      >
        <table class="tasks" aria-rowcount={rows.more ? -1 : rows.known + 1}>
          <thead>
            <tr aria-rowindex={1}>
              <th>
                <input
                  type="checkbox"
                  aria-label="Select all that are loaded"
                  checked={all}
                  onChange={(event) =>
                    setChosen(
                      new Map(
                        event.currentTarget.checked
                          ? rows.loaded.map((task) => [task.id, task])
                          : [],
                      ),
                    )
                  }
                />
              </th>
              <th>Status</th>
              <th>Task</th>
              <th>Type</th>
              <th aria-sort={oldest ? 'ascending' : 'descending'}>
                <Button
                  class="linklike"
                  onClick={() => refine({ order: oldest ? undefined : 'oldest' })}
                >
                  Began {oldest ? '▲' : '▼'}
                </Button>
              </th>
              <th>Result or why not</th>
            </tr>
          </thead>
          <tbody>
            <Space rows={rows.first} />
            {rows.shown.map((task, i) => (
              <Row
                key={rows.first + i}
                row={rows.first + i}
                task={task}
                chosen={!!task && chosen.has(task.id)}
                at={rows.first + i === cursor}
                choose={choose}
              />
            ))}
            <Space rows={rows.known - end} />
          </tbody>
        </table>
      </div>
    </section>
  );
}

function NoTasks({ filtered }: { filtered: boolean }) {
  if (filtered) {
    return (
      <Empty title="No task fits the filter">
        <p>
          <a href={link('tasks')}>Show all tasks</a>. Tasks in the archive are found by their whole
          id.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No tasks yet">
      <p>
        A task is one run of a type that this program registered.{' '}
        <a href={link('start')}>Start one</a> here, or on the command line:
      </p>
      <pre class="json">tiffany start TYPE NAME=VALUE</pre>
    </Empty>
  );
}
