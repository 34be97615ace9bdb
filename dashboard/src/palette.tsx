// Ctrl-K: every view, type, task and action of the task that is shown, by typing a part of it.
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ask, askSignal, can, ended } from './actions';
import { get, may } from './api';
import type { Plans, Promises, Task, TaskPage, Types } from './api_types';
import { filterOf } from './filters';
import { signs } from './parts';
import { places } from './places';
import { go, route } from './route';
import { shortId } from './text';

export const paletteOpen = signal(false);

interface Choice {
  label: string;
  hint: string;
  run: () => void;
}

const views: Choice[] = places.map(([path, , key, what]) => ({
  label: what[0].toUpperCase() + what.slice(1),
  hint: `g ${key}`,
  run: () => go(path),
}));

async function choices(): Promise<Choice[]> {
  const [types, page, plans, open] = await Promise.all([
    get<Types>('/types'),
    get<TaskPage>('/tasks?limit=200&order=newest'),
    get<Plans>('/plans'),
    get<Promises>('/promises?limit=100'),
  ]);
  const found = [...views];
  if (route.value.view === 'task') {
    const task = await get<Task>(`/tasks/${route.value.parts[0]}`);
    if (may('operator') && !ended(task)) {
      const run = () => askSignal(task);
      found.unshift({ label: 'send a signal to this task', hint: task.type, run });
    }
    // Each is put in front of those before it.
    for (const verb of ['kill', 'cancel', 'resume', 'pause'] as const) {
      if (can(verb, task)) {
        found.unshift({
          label: `${verb} this task`,
          hint: task.type,
          run: () => ask(verb, [task]),
        });
      }
    }
  }
  for (const type of types.types) {
    const name = encodeURIComponent(type.name);
    found.push({ label: `Start ${type.name}`, hint: 'type', run: () => go(`start/${name}`) });
    found.push({
      label: `All of type ${type.name}`,
      hint: 'type',
      run: () => go('tasks', { type: type.name }),
    });
  }
  for (const { name } of plans.plans) {
    const run = () => go(`plans/${encodeURIComponent(name)}`);
    found.push({ label: `Run the plan ${name}`, hint: 'plan', run });
  }
  for (const task of page.tasks) {
    found.push({
      label: `${task.type} ${task.key ?? ''} ${shortId(task.id)}`,
      hint: `${signs[task.status]} ${task.status}`,
      run: () => go(`task/${task.id}`),
    });
  }
  // Behind the tasks: the beginning of an id is that of a task first.
  for (const { id, name, type, task } of open.promises) {
    found.push({
      label: `Decide ${name} of ${type ?? 'task'} ${shortId(task)}`,
      hint: 'approval',
      run: () => go('approvals', { promise: id }),
    });
  }
  return found;
}

function fits(choice: Choice, words: string[]): boolean {
  const text = `${choice.label} ${choice.hint}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

// A new one each time, so that nothing that is typed is lost to what was typed before.
export function Palette() {
  return paletteOpen.value ? <OpenPalette /> : null;
}

function OpenPalette() {
  const box = useRef<HTMLDialogElement>(null);
  const [all, setAll] = useState<Choice[]>(views);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  useLayoutEffect(() => box.current?.showModal(), []);
  useEffect(() => {
    choices()
      .then(setAll)
      .catch(() => setAll(views)); // the header says that nobody answers
  }, []);
  const close = () => (paletteOpen.value = false);
  const found = all
    .filter((each) => fits(each, text.toLowerCase().split(/\s+/).filter(Boolean)))
    .slice(0, 12);
  if (/^[0-9a-f-]{4,36}$/.test(text.trim())) {
    const id = text.trim();
    found.push({ label: `Open task ${id}`, hint: 'by its id', run: () => go(`task/${id}`) });
  }
  if (text.includes(':') || (found.length === 0 && text.trim())) {
    const run = () => go('tasks', filterOf(text));
    found.push({ label: `Tasks that fit ${text.trim()}`, hint: 'filter', run });
  }
  const run = (choice?: Choice) => {
    if (!choice) return;
    close();
    choice.run();
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(found.length - 1, at + 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
    else if (event.key === 'Enter') run(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={box} class="palette" aria-label="Go to" onClose={close}>
      <input
        value={text}
        onKeyDown={key}
        placeholder="Go to a view, a task, an action"
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="choices"
        aria-label="Go to"
        aria-activedescendant={found[at] ? `choice-${at}` : undefined}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
      />
      <ul id="choices" role="listbox" aria-label="What fits">
        {found.map((each, i) => (
          <li
            key={i}
            id={`choice-${i}`}
            role="option"
            aria-selected={i === at}
            onClick={() => run(each)}
          >
            {each.label} <span class="dim">{each.hint}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="dim">Nothing fits.</p>}
    </dialog>
  );
}
