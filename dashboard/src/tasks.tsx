// All tasks: counts by status, a filter, a page at a time, and what can be done to several.
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, can, type Verb } from './actions';
import { query } from './api';
import type { Status, Task, TaskPage, Types } from './api_types';
import { counts, useAsk } from './live';
import { Badge, Copy, Empty, Failure, isTyping, signs, statuses, TaskLink, When } from './parts';
import { go, link, refine, route } from './route';
import { json, number, quoted } from './text';

const pageSize = 100;
// Cursors of the pages before this one.
const before = signal<string[]>([]);

function detailOf(task: Task): string {
  if (task.status === 'completed') return task.result === undefined ? '' : json(task.result);
  return task.detail ?? '';
}

function commandOf(filter: Record<string, string>): string {
  const flags = ['status', 'type', 'key', 'attribute']
    .filter((name) => filter[name])
    .map((name) => ` --${name} ${quoted(filter[name])}`);
  return 'tiffany ps --all' + flags.join('');
}

function StatusCounts({ chosen }: { chosen: string }) {
  const total = statuses.reduce((sum, each) => sum + (counts.value[each] ?? 0), 0);
  const choose = (status: string) => {
    before.value = [];
    refine({ status, after: undefined });
  };
  return (
    <div class="counts" role="group" aria-label="Tasks by status">
      <button
        type="button"
        class={chosen ? 'count' : 'count chosen'}
        aria-pressed={!chosen}
        onClick={() => choose('')}
      >
        <b>{number(total)}</b> all
      </button>
      {statuses.map((each) => (
        <button
          type="button"
          key={each}
          aria-pressed={chosen === each}
          class={`count ${each}${chosen === each ? ' chosen' : ''}`}
          onClick={() => choose(chosen === each ? '' : each)}
        >
          <span aria-hidden="true">{signs[each]}</span> <b>{number(counts.value[each] ?? 0)}</b>{' '}
          {each}
        </button>
      ))}
    </div>
  );
}

// "type:order key:a7 customer:Ada", or the beginning of an id.
export function filterOf(text: string): Record<string, string | undefined> {
  const filter: Record<string, string | undefined> = {
    type: undefined,
    key: undefined,
    attribute: undefined,
    parent: undefined,
  };
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const colon = word.indexOf(':');
    if (colon < 0) filter.type = word;
    else if (['type', 'key', 'parent', 'status'].includes(word.slice(0, colon))) {
      filter[word.slice(0, colon)] = word.slice(colon + 1);
    } else filter.attribute = word;
  }
  return filter;
}

function FilterBar({ types }: { types: string[] }) {
  const { query: at } = route.value;
  const given = [
    at.type && `type:${at.type}`,
    at.key && `key:${at.key}`,
    at.parent && `parent:${at.parent}`,
    at.attribute,
  ]
    .filter(Boolean)
    .join(' ');
  const [text, setText] = useState(given);
  useEffect(() => setText(given), [given]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (/^[0-9a-f]{4,}[0-9a-f-]*$/.test(text.trim())) return go(`task/${text.trim()}`);
    before.value = [];
    refine({ ...filterOf(text), after: undefined });
  };
  return (
    <form class="filter" onSubmit={submit} role="search">
      <input
        id="filter"
        value={text}
        list="types"
        spellcheck={false}
        aria-label="Filter"
        placeholder="Filter: type:order key:a7 customer:Ada, or an id   ( / )"
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <datalist id="types">
        {types.map((each) => (
          <option key={each} value={`type:${each}`} />
        ))}
      </datalist>
      <button type="submit">Filter</button>
      {(given || at.status) && <a href={link('tasks')}>Clear</a>}
      <SavedFilters now={location.hash} any={!!given || !!at.status} />
      <Copy text={commandOf(at)} />
    </form>
  );
}

// Kept in this browser.
const savedKey = 'tiffany.filters';
function readSaved(): Record<string, string> {
  try {
    return JSON.parse(localStorage.getItem(savedKey) ?? '{}') as Record<string, string>;
  } catch {
    return {};
  }
}

function SavedFilters({ now, any }: { now: string; any: boolean }) {
  const [saved, setSaved] = useState(readSaved);
  const name = decodeURIComponent(now.split('?')[1] ?? '').replaceAll('&', ' ');
  const keep = (all: Record<string, string>) => {
    localStorage.setItem(savedKey, JSON.stringify(all));
    setSaved(all);
  };
  const { [name]: known, ...others } = saved;
  return (
    <>
      {any && (
        <button
          type="button"
          class="quiet"
          onClick={() => keep(known ? others : { ...saved, [name]: now })}
        >
          {known ? 'Forget filter' : 'Save filter'}
        </button>
      )}
      {Object.entries(saved).map(([each, hash]) => (
        <a key={each} class="saved" href={hash}>
          {each}
        </a>
      ))}
    </>
  );
}

function Row({
  task,
  chosen,
  choose,
  at,
}: {
  task: Task;
  chosen: boolean;
  choose: (yes: boolean) => void;
  at: boolean;
}) {
  return (
    <tr class={at ? 'at' : ''} data-task={task.id}>
      <td>
        <input
          type="checkbox"
          checked={chosen}
          aria-label={`Select ${task.type} ${task.id}`}
          onChange={(event) => choose(event.currentTarget.checked)}
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
        {task.key && <span class="dim"> {task.key}</span>}
      </td>
      <td>
        <When at={task.began} />
      </td>
      <td class="detail" title={detailOf(task)}>
        {detailOf(task)}
      </td>
    </tr>
  );
}

const verbs: Verb[] = ['pause', 'resume', 'cancel', 'kill'];

export function Tasks() {
  const { query: at } = route.value;
  const path =
    '/tasks' +
    query({
      status: at.status,
      type: at.type,
      key: at.key,
      parent: at.parent,
      attribute: at.attribute,
      after: at.after,
      limit: pageSize,
      order: 'newest',
    });
  const page = useAsk<TaskPage>(path);
  const types = useAsk<Types>('/types').data?.types.map((each) => each.name) ?? [];
  const [chosen, setChosen] = useState(new Set<string>());
  const [cursor, setCursor] = useState(-1);
  const table = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (page.data) counts.value = page.data.counts;
  }, [page.data]);
  useEffect(() => {
    setChosen(new Set());
    setCursor(-1);
  }, [path]);
  const tasks = page.data?.tasks ?? [];

  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      if (event.key === 'j' || event.key === 'k') {
        const to = Math.max(0, Math.min(tasks.length - 1, cursor + (event.key === 'j' ? 1 : -1)));
        setCursor(to);
        table.current?.querySelectorAll('tbody tr')[to]?.scrollIntoView({ block: 'nearest' });
      } else if (
        event.key === 'Enter' &&
        tasks[cursor] &&
        document.activeElement === document.body
      ) {
        go(`task/${tasks[cursor].id}`);
      } else if (event.key === 'x' && tasks[cursor]) {
        choose(tasks[cursor].id, !chosen.has(tasks[cursor].id));
      }
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });

  const choose = (id: string, yes: boolean) => {
    const next = new Set(chosen);
    if (yes) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const selected = tasks.filter((task) => chosen.has(task.id));
  const older = () => {
    before.value = [...before.value, at.after ?? ''];
    refine({ after: page.data?.next });
  };
  const newer = () => {
    const to = before.value.at(-1);
    before.value = before.value.slice(0, -1);
    refine({ after: to || undefined });
  };
  return (
    <section aria-label="Tasks">
      <h1 class="sr">Tasks</h1>
      <StatusCounts chosen={(at.status as Status) ?? ''} />
      <FilterBar types={types} />
      {page.error && !page.data && <Failure error={page.error} />}
      {page.data && tasks.length === 0 && <NoTasks filtered={Object.keys(at).length > 0} />}
      {tasks.length > 0 && (
        <>
          <div class="bar">
            <span>
              {selected.length > 0
                ? `${selected.length} selected`
                : `${tasks.length} shown, newest first`}
            </span>
            {verbs.map((verb) => {
              const those = selected.filter((task) => can(verb, task));
              return (
                <button
                  type="button"
                  key={verb}
                  disabled={those.length === 0}
                  class={verb === 'cancel' || verb === 'kill' ? 'danger' : ''}
                  onClick={() => ask(verb, those)}
                >
                  {verb}
                  {those.length > 0 ? ` ${those.length}` : ''}
                </button>
              );
            })}
            <span class="grow" />
            <button type="button" disabled={!at.after} onClick={newer}>
              Newer
            </button>
            <button type="button" disabled={!page.data?.next} onClick={older}>
              Older
            </button>
          </div>
          <div class="scroll" ref={table} tabIndex={0} role="region" aria-label="Table of tasks">
            <table class="tasks">
              <thead>
                <tr>
                  <th>
                    <input
                      type="checkbox"
                      aria-label="Select all that are shown"
                      checked={selected.length === tasks.length}
                      onChange={(event) =>
                        setChosen(
                          new Set(event.currentTarget.checked ? tasks.map((task) => task.id) : []),
                        )
                      }
                    />
                  </th>
                  <th>Status</th>
                  <th>Task</th>
                  <th>Type</th>
                  <th>Began</th>
                  <th>Result or why not</th>
                </tr>
              </thead>
              <tbody>
                {tasks.map((task, i) => (
                  <Row
                    key={task.id}
                    task={task}
                    chosen={chosen.has(task.id)}
                    at={i === cursor}
                    choose={(yes) => choose(task.id, yes)}
                  />
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
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
