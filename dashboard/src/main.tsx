// The page: header with the state of the connection, the view that the address names, keys.
import { signal } from '@preact/signals';
import { render, type ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { info, refused, signIn, token } from './api';
import type { Promises as Waiting } from './api_types';
import { Approvals } from './approvals';
import {
  connection,
  counts,
  dropped,
  freeze,
  frozen,
  held,
  refresh,
  startLive,
  stream,
  useAsk,
} from './live';
import { Button, Dialog, Failure, isTyping, toast } from './parts';
import { Palette, paletteOpen } from './palette';
import { MemoryView } from './memory';
import { places } from './places';
import { Plans } from './plans';
import { Problems, useTrouble } from './problems';
import { ProcessTimeline } from './process_timeline';
import { go, link, route } from './route';
import { SchedulerView } from './scheduler';
import { Schedules } from './schedules';
import { SettingsView } from './settings';
import { SkillsView } from './skills';
import { Start } from './start';
import { StepsView } from './steps';
import { TaskView } from './task';
import { Tasks } from './tasks';
import { age, clock, timeOfDay } from './text';

const words = {
  live: 'live',
  connecting: 'connecting',
  reconnecting: 'reconnecting',
  starting: 'starting',
  denied: 'signed out',
};

function ConnectionState() {
  const { link: state, since, why } = connection.value;
  const ago = age(clock.value - since);
  if (frozen.value) {
    return (
      <span class="link frozen" role="status" title="Updates are stopped; press space to go on">
        ‖ frozen {held.value > 0 && `${held.value} events held`}{' '}
        <Button onClick={() => freeze(false)}>go on</Button>
      </span>
    );
  }
  if (state === 'live') {
    return (
      <span class="link live" role="status" title={`since ${timeOfDay(new Date(since))}`}>
        ● live
        {dropped.value > 0 && (
          <Button
            class="amber"
            onClick={() => {
              dropped.value = 0;
              refresh();
            }}
            title="More events came than this page could read; everything was asked for again"
          >
            {dropped.value} dropped
          </Button>
        )}
      </span>
    );
  }
  return (
    <span class={`link ${state}`} role="status" title={why}>
      ◌ {words[state]} {state === 'reconnecting' && `since ${timeOfDay(new Date(since))}, ${ago}`}
    </span>
  );
}

// The daemon looks at every promise to answer this: not with each round of requests.
const countRest = 3000;

function Header() {
  const open = useAsk<Waiting>('/promises?limit=100', undefined, countRest).data;
  const waiting = open?.promises.length ?? 0;
  const trouble = useTrouble(counts.value);
  const marks: Record<string, number> = { approvals: waiting, problems: trouble };
  const view = route.value.view === 'task' ? 'tasks' : route.value.view;
  return (
    <header class="top">
      <a class="brand" href={link('tasks')}>
        {info.value?.name ?? 'Tiffany'}
      </a>
      <ConnectionState />
      <nav aria-label="Views">
        {places.map(([name, label]) => (
          <a key={name} href={link(name)} aria-current={view === name ? 'page' : undefined}>
            {label}
            {marks[name] ? <span class={`mark ${name}`}> {marks[name]}</span> : null}
          </a>
        ))}
      </nav>
      <Button class="quiet" onClick={() => (paletteOpen.value = true)}>
        Go to <kbd>Ctrl K</kbd>
      </Button>
    </header>
  );
}

// What is shown is as of the time when the connection was lost.
function Stale() {
  const { link: state, since, why } = connection.value;
  if (state !== 'reconnecting' && state !== 'starting') return null;
  return (
    <div class="stale" role="alert">
      {state === 'starting'
        ? 'The daemon is starting.'
        : `Not connected since ${timeOfDay(new Date(since))}.`}{' '}
      {why} What you see is as of then; the page tries again by itself.
    </div>
  );
}

function SignIn() {
  const submit = (event: Event) => {
    event.preventDefault();
    const given = String(new FormData(event.target as HTMLFormElement).get('token') ?? '').trim();
    if (given) signIn(given);
  };
  return (
    <main class="signin">
      <form class="card" onSubmit={submit}>
        <h1>{location.host}</h1>
        <p>Who are you? This daemon answers to those who have a token.</p>
        <label>
          Token
          <input name="token" type="password" autoComplete="off" autoFocus required />
        </label>
        {refused.value && <Failure error={refused.value} />}
        <button type="submit" class="primary">
          Sign in
        </button>
        <p class="dim">
          The first one is in the file <code>admin.token</code> in the directory of the data;{' '}
          <code>tiffany tokens create --role viewer NAME</code> makes others. It is kept until this
          tab is closed.
        </p>
      </form>
    </main>
  );
}

const helpOpen = signal(false);
const keys: [string, string][] = [
  ['Ctrl K', 'go to a view, a task, an action'],
  ...places.map(([, , key, what]): [string, string] => [`g ${key}`, what]),
  ['/', 'filter'],
  ['j k', 'down and up'],
  ['x', 'select'],
  ['Enter', 'open'],
  ['a r n', 'approve, reject, next'],
  ['space', 'stop and go on with updates'],
  ['?', 'this help'],
];

function Help() {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (helpOpen.value && !box.current?.open) box.current?.showModal();
  });
  if (!helpOpen.value) return null;
  return (
    <dialog ref={box} aria-labelledby="help" onClose={() => (helpOpen.value = false)}>
      <h2 id="help">Keys</h2>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="buttons">
        <Button autoFocus onClick={() => (helpOpen.value = false)}>Back</Button>
      </div>
    </dialog>
  );
}

let leader = 0; // when g was pressed

function onKey(event: KeyboardEvent): void {
  if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
    event.preventDefault();
    paletteOpen.value = true;
    return;
  }
  if (isTyping(event)) return;
  const second = Date.now() - leader < 1000;
  leader = event.key === 'g' ? Date.now() : 0;
  const place = second && places.find((each) => each[2] === event.key);
  if (place) {
    event.preventDefault();
    event.stopImmediatePropagation();
    go(place[0]);
  } else if (event.key === '/') {
    event.preventDefault();
    document.getElementById('filter')?.focus();
  } else if (event.key === '?') {
    helpOpen.value = true;
  } else if (event.key === ' ' && document.activeElement === document.body) {
    event.preventDefault();
    freeze(!frozen.value);
  }
}

const views: Record<string, () => ComponentChildren> = {
  approvals: Approvals,
  problems: () => <Problems counts={counts.value} />,
  plans: Plans,
  steps: StepsView,
  scheduler: SchedulerView,
  timeline: ProcessTimeline,
  schedules: Schedules,
  memory: MemoryView,
  skills: SkillsView,
  start: Start,
  settings: SettingsView,
};

function View() {
  const { view, parts } = route.value;
  if (view === 'task') return <TaskView key={parts[0]} />;
  const Shown = Object.hasOwn(views, view) ? views[view] : Tasks;
  return <Shown />;
}

function Page() {
  if (!token.value && !info.value) {
    return connection.value.link === 'denied' || refused.value ? <SignIn /> : null;
  }
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        Skip to the content
      </a>
      <Header />
      <Stale />
      <main id="main" tabIndex={-1}>
        <View />
      </main>
      <Dialog />
      <Palette />
      <Help />
      <div class="toast" role="status" aria-live="polite">
        {toast.value}
      </div>
    </>
  );
}

addEventListener('keydown', onKey);
// For the browser tests: what the stream has seen, and a round of requests.
(globalThis as Record<string, unknown>).tiffany = { stream, refresh };
startLive();
render(<Page />, document.getElementById('app')!);
