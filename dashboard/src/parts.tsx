// What several views are made of.
import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { may, type ApiError } from './api';
import type { Status } from './api_types';
import { refresh } from './live';
import { link } from './route';
import { age, clock, day, shortId, timeOfDay } from './text';

// States differ by their sign and word, and not by colour alone.
export const signs: Record<Status, string> = {
  running: '▶',
  queued: '…',
  paused: '‖',
  diverged: '≠',
  quarantined: '!',
  completed: '✓',
  failed: '✗',
  cancelled: '⊘',
};
export const statuses = Object.keys(signs) as Status[];

export function Badge({ status }: { status: Status }) {
  return (
    <span class={`badge ${status}`}>
      <span aria-hidden="true">{signs[status]}</span> {status}
    </span>
  );
}

// Absolute and relative.
export function When({ at, millis }: { at?: string; millis?: boolean }) {
  if (!at) return <span class="dim">–</span>;
  const time = new Date(at);
  const ms = clock.value - time.getTime();
  const today = day(time) === day(new Date());
  const words = ms >= 0 ? `${age(ms)} ago` : `in ${age(-ms)}`;
  return (
    <time dateTime={at} title={at}>
      {today ? '' : day(time) + ' '}
      {timeOfDay(time, millis)} <span class="dim">{words}</span>
    </time>
  );
}

export function TaskLink({ id, children }: { id: string; children?: ComponentChildren }) {
  return (
    <a class="mono" href={link(`task/${id}`)} title={id}>
      {children ?? shortId(id)}
    </a>
  );
}

export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    <pre class="json" tabIndex={0} role="region" aria-label={label}>
      {JSON.stringify(value, null, 2) ?? 'nothing'}
    </pre>
  );
}

// A colour of the theme, in a legend.
export function Swatch({ colour }: { colour: string }) {
  return <i class="swatch" style={{ background: `var(--${colour})` }} />;
}

// An empty state says what to do next.
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Failure({ error }: { error: ApiError | string }) {
  return (
    <div class="failure" role="alert">
      {typeof error === 'string' ? error : error.message}
    </div>
  );
}

// `more`: beside the title.
export function Card(props: {
  title: ComponentChildren;
  label?: string;
  more?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const title = <h2>{props.title}</h2>;
  return (
    <section class="card" aria-label={props.label}>
      {props.more ? (
        <div class="bar">
          {title}
          <span class="grow" />
          {props.more}
        </div>
      ) : (
        title
      )}
      {props.children}
    </section>
  );
}

// `operator`: what it does needs that role.
export function Button({
  operator,
  disabled,
  ...rest
}: JSX.IntrinsicElements['button'] & { operator?: boolean }) {
  return <button type="button" {...rest} disabled={disabled || (operator && !may('operator'))} />;
}

export function OperatorsOnly({ what }: { what: string }) {
  if (may('operator')) return null;
  return <p class="note">Your token is a viewer's: {what} needs an operator's.</p>;
}

// What may be wider than the window, and is scrolled with the keyboard, too.
export function Scroll(props: { label: string; graph?: boolean; children?: ComponentChildren }) {
  return (
    <div
      class={props.graph ? 'scroll graph' : 'scroll'}
      tabIndex={0}
      role="region"
      aria-label={props.label}
    >
      {props.children}
    </div>
  );
}

// `head`: names of the columns; those of numbers have a # in front.
export function Table({
  label,
  head,
  children,
}: {
  label: string;
  head: string[];
  children?: ComponentChildren;
}) {
  return (
    <Scroll label={label}>
      <table>
        <thead>
          <tr>
            {head.map((each) => (
              <th key={each} class={each[0] === '#' ? 'num' : undefined}>
                {each.replace('#', '')}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </Scroll>
  );
}

// "Copy as command": what is shown here, on the command line.
export function Copy({ text, children }: { text: string; children?: ComponentChildren }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A page that is not on loopback or TLS has no clipboard; the line is there to select.
      say(text);
      return;
    }
    setDone(true);
  };
  return (
    <Button class="quiet copy" title={`Copy: ${text}`} onClick={copy}>
      {done ? 'Copied' : (children ?? 'Copy as command')}
    </Button>
  );
}

// Hands bytes to the browser as a file.
export function saveBlob(name: string, bytes: Blob): void {
  const url = URL.createObjectURL(bytes);
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(url);
}

export function save(name: string, text: string, type: string): void {
  saveBlob(name, new Blob([text], { type }));
}

// Whether a key is meant for a field or a dialog, and not for the view.
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  if (document.querySelector('dialog[open]')) return true;
  if (target instanceof HTMLInputElement) return !/checkbox|radio/.test(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

// Keys for the view, from its first frame on: `act` sees what is drawn, and no key falls between
// two listeners.
export function useKeys(act: (key: string) => void): void {
  const latest = useRef(act);
  useLayoutEffect(() => {
    latest.current = act;
  });
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!isTyping(event)) latest.current(event.key);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

// ---- A line at the bottom that goes by itself ----

export const toast = signal('');
let toastTimer: ReturnType<typeof setTimeout> | undefined;
export function say(text: string): void {
  toast.value = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (toast.value = ''), 6000);
}

// ---- Dialogs ----

export interface Question {
  title: string; // names the target
  words?: ComponentChildren;
  targets?: string[]; // when there are several
  ask?: { name: string; label: string; value?: string; required?: boolean; lines?: number }[];
  confirm: string; // the verb
  danger?: boolean;
  // Throws what the daemon said against it.
  act: (values: Record<string, string>) => Promise<string | void>;
}
const mostTargets = 150;
export const question = signal<Question | null>(null);

export function Dialog() {
  const asked = question.value;
  const box = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  useLayoutEffect(() => {
    setProblem('');
    setBusy(false);
    if (asked && !box.current?.open) box.current?.showModal();
  }, [asked]);
  if (!asked) return null;
  const submit = async (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    setBusy(true);
    setProblem('');
    try {
      const said = await asked.act(Object.fromEntries(form) as Record<string, string>);
      if (question.value === asked) question.value = null; // another may have been asked meanwhile
      if (said) say(said);
    } catch (error) {
      const words = (error as Error).message;
      if (question.value === asked) {
        setProblem(words);
        setBusy(false);
      } else {
        say(words);
      }
    }
    refresh(); // also when it was refused: some of several may have been done
  };
  return (
    <dialog ref={box} aria-labelledby="dialog-title" onClose={() => (question.value = null)}>
      <form onSubmit={submit}>
        <h2 id="dialog-title">{asked.title}</h2>
        {asked.words}
        {asked.targets && (
          <ul class="targets" tabIndex={0} aria-label="Targets">
            {asked.targets.slice(0, mostTargets).map((each) => (
              <li key={each} class="mono">
                {each}
              </li>
            ))}
            {asked.targets.length > mostTargets && (
              <li>and {asked.targets.length - mostTargets} others</li>
            )}
          </ul>
        )}
        {asked.ask?.map((field, i) => (
          <label key={field.name}>
            {field.label}
            {(field.lines ?? 1) > 1 ? (
              <textarea
                name={field.name}
                rows={field.lines}
                required={field.required}
                defaultValue={field.value ?? ''}
                autoFocus={i === 0}
              />
            ) : (
              <input
                name={field.name}
                required={field.required}
                defaultValue={field.value ?? ''}
                autoFocus={i === 0}
                autoComplete="off"
              />
            )}
          </label>
        ))}
        {problem && <Failure error={problem} />}
        <div class="buttons">
          <Button onClick={() => (question.value = null)}>Back</Button>
          <button type="submit" class={asked.danger ? 'danger' : 'primary'} disabled={busy}>
            {asked.confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}
