// What can be done to tasks. Each asks first, and names what it would be done to.
import { change, may, post } from './api';
import type { Forked, Task } from './api_types';
import { question, type Question } from './parts';
import { go } from './route';
import { quoted, shortId } from './text';

export type Verb = 'cancel' | 'kill' | 'pause' | 'resume';
const meaning: Record<Verb, string> = {
  cancel: 'The task unwinds: code that cleans up runs, and then the task ends as cancelled.',
  kill: 'The task ends at once, without running any more of its code.',
  pause: 'The task stops where it is until somebody resumes it.',
  resume: 'The task goes on from where it was paused.',
};
const done: Record<Verb, string> = {
  cancel: 'cancelled',
  kill: 'killed',
  pause: 'paused',
  resume: 'resumed',
};

export const ended = (task: Task): boolean =>
  task.status === 'completed' || task.status === 'failed' || task.status === 'cancelled';

export function can(verb: Verb, task: Task): boolean {
  if (!may('operator') || ended(task)) return false;
  if (verb === 'resume') return task.status === 'paused' || task.status === 'diverged';
  if (verb === 'pause') return task.status === 'running' || task.status === 'queued';
  return true;
}

function nameOf(task: Task): string {
  return `${task.type} ${shortId(task.id)}`;
}

// Requests under way: a browser has six connections, one of them for the stream of events.
const atOnce = 4;

// One task or many; a refusal of one does not stop the others.
export function ask(verb: Verb, tasks: Task[]): void {
  if (tasks.length === 0) return;
  const what = tasks.length === 1 ? nameOf(tasks[0]) : `${tasks.length} tasks`;
  const capital = verb[0].toUpperCase() + verb.slice(1);
  question.value = {
    title: `${capital} ${what}?`,
    words: meaning[verb],
    targets: tasks.length === 1 ? undefined : tasks.map(nameOf),
    ask: [{ name: 'reason', label: 'Reason (is written to the audit)' }],
    confirm: `${capital} ${what}`,
    danger: verb === 'cancel' || verb === 'kill',
    act: async ({ reason }) => {
      const refused: string[] = [];
      const left = [...tasks];
      const one = async () => {
        for (let task = left.shift(); task; task = left.shift()) {
          try {
            await post(`/tasks/${task.id}/${verb}`, reason ? { reason } : {});
          } catch (error) {
            refused.push(`${nameOf(task)}: ${(error as Error).message}`);
          }
        }
      };
      await Promise.all(Array.from({ length: atOnce }, one));
      if (refused.length > 0) {
        const others = refused.length > 5 ? ` And ${refused.length - 5} others.` : '';
        throw new Error(`${refused.slice(0, 5).join(' ')}${others}`);
      }
      return `${what} ${done[verb]}.`;
    },
  };
}

export function askFrom(verb: 'retry' | 'fork', task: Task, step: string): void {
  question.value = {
    title: `${verb === 'retry' ? 'Retry' : 'Fork'} ${nameOf(task)} from ${step}?`,
    words:
      verb === 'retry'
        ? `Everything from ${step} on is forgotten and done again.`
        : `Another task begins with the history before ${step}. This one stays as it is.`,
    ask: [{ name: 'reason', label: 'Reason (is written to the audit)' }],
    confirm: verb === 'retry' ? `Retry from ${step}` : `Fork at ${step}`,
    danger: verb === 'retry',
    act: async ({ reason }) => {
      const body = reason ? { from: step, reason } : { from: step };
      const made = await post<Partial<Forked>>(`/tasks/${task.id}/${verb}`, body);
      if (verb === 'fork' && made.task) go(`task/${made.task}`);
      return verb === 'retry' ? `${nameOf(task)} goes on from ${step}.` : 'The fork was started.';
    },
  };
}

export function askSignal(task: Task, name = ''): void {
  question.value = {
    title: `Send a signal to ${nameOf(task)}`,
    ask: [
      { name: 'name', label: 'Name', value: name, required: true },
      { name: 'value', label: 'Value (JSON)', value: 'null', lines: 3 },
      { name: 'reason', label: 'Reason' },
    ],
    confirm: 'Send',
    act: async ({ name: which, value, reason }) => {
      await post(`/tasks/${task.id}/signal`, { name: which, value: parse(value), reason });
      return `${which} was sent to ${nameOf(task)}.`;
    },
  };
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`This is no JSON: ${(error as Error).message}. A text is in "quotes".`);
  }
}

export function askToRemove(
  what: string,
  path: string,
  words: Question['words'],
  verb = 'Remove',
): void {
  question.value = {
    title: `${verb} ${what}?`,
    words,
    confirm: `${verb} ${what}`,
    danger: true,
    act: async () => {
      await change('DELETE', path);
      return `${what} was removed.`;
    },
  };
}

export function startCommand(type: string, args: unknown): string {
  return `tiffany start ${quoted(type)} --arguments ${quoted(JSON.stringify(args))}`;
}
