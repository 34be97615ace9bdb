// The tasks of the process as a tree: who started whom, what each waits for, and at which lines.
import type { ComponentChildren } from 'preact';
import { useAsk } from './live';
import { Card, Copy, Failure } from './parts';
import { duration } from './text';

export interface ProcessTask {
  id: string;
  name?: string;
  state: string;
  call?: string;
  waits_for?: string;
  since_ns?: number;
  stack?: { file: string; line?: number; function?: string }[];
  spawned?: { file: string; line?: number; by?: string }[];
}
interface Dump {
  now_ns: number;
  live: number;
  tasks: ProcessTask[];
}

export interface Branch {
  task: ProcessTask;
  same: number; // how many others beside it have the same name, wait and lines
  children: Branch[];
}

const lookOf = (task: ProcessTask): string =>
  JSON.stringify([
    task.name,
    task.state,
    task.waits_for?.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|\d+/g, '#'),
    task.stack,
  ]);

// Below those who started them; a task whose starter is gone is a root.
function rootsOf(tasks: ProcessTask[]): Branch[] {
  const branches = new Map(
    tasks.map((task) => [task.id, { task, same: 0, children: [] } as Branch]),
  );
  const roots: Branch[] = [];
  for (const branch of branches.values()) {
    const parent = branches.get(branch.task.spawned?.[0]?.by ?? '');
    (parent && parent !== branch ? parent.children : roots).push(branch);
  }
  return roots;
}

// Leaves that look the same are one.
export function treeOf(tasks: ProcessTask[]): Branch[] {
  const fold = (all: Branch[]): Branch[] => {
    const leaves = new Map<string, Branch>();
    return all.filter((branch) => {
      branch.children = fold(branch.children);
      if (branch.children.length > 0) return true;
      const look = lookOf(branch.task);
      const first = leaves.get(look);
      if (first) first.same += 1;
      else leaves.set(look, branch);
      return !first;
    });
  };
  return fold(rootsOf(tasks));
}

// Those that run one durable task, with what they started.
export function branchesOf(tasks: ProcessTask[], id: string): Branch[] {
  const found: Branch[] = [];
  const search = (branch: Branch) => {
    if (branch.task.waits_for?.includes(id)) found.push(branch);
    else branch.children.forEach(search);
  };
  rootsOf(tasks).forEach(search);
  return found;
}

function Node({ branch, now, open }: { branch: Branch; now: number; open: boolean }) {
  const { task, same, children } = branch;
  return (
    <li>
      <details open={open}>
        <summary>
          <span class="mono">{task.id}</span> <b>{task.name ?? task.call ?? ''}</b> {task.state}
          {task.waits_for && <>: {task.waits_for}</>}
          {task.since_ns !== undefined && (
            <span class="dim"> for {duration((now - task.since_ns) / 1e6)}</span>
          )}
          {same > 0 && <b> (+{same} the same)</b>}
        </summary>
        <ol class="stack">
          {(task.stack ?? []).map((frame, i) => (
            <li key={i}>
              <code class="place">
                {frame.file}
                {frame.line ? `:${frame.line}` : ''}
              </code>{' '}
              {frame.function ?? ''}
            </li>
          ))}
        </ol>
      </details>
      {children.length > 0 && (
        <ul class="plain tree">
          {children.slice(0, mostOfOne).map((each) => (
            <Node key={each.task.id} branch={each} now={now} open={open} />
          ))}
          {children.length > mostOfOne && (
            <li class="dim">{children.length - mostOfOne} others</li>
          )}
        </ul>
      )}
    </li>
  );
}

const mostOfOne = 50;

// Looking at every task of the process costs the daemon: not more often than every five seconds.
const rest = 5000;

// `of`: only the tasks that run that durable task.
export function AwaitTree({ of }: { of?: string }) {
  const dump = useAsk<Dump>('/dump', of, rest);
  if (dump.error && !dump.data) return <Failure error={dump.error} />;
  if (!dump.data) return null;
  const { tasks, now_ns: now } = dump.data;
  const shown = of ? branchesOf(tasks, of) : treeOf(tasks);
  let title: ComponentChildren = `${tasks.length} tasks of the process, and what they wait for`;
  if (of) title = 'What its code awaits, innermost first';
  return (
    <Card title={title} label="Await tree" more={<Copy text="tiffany dump" />}>
      {shown.length === 0 && (
        <p class="dim">
          No task of the process runs its code at this moment: it has ended, stands still, or was
          put aside until what it waits for comes. The history has where it was.
        </p>
      )}
      <ul class="plain tree">
        {shown.slice(0, mostOfOne).map((each) => (
          <Node key={each.task.id} branch={each} now={now} open={!!of} />
        ))}
      </ul>
      {shown.length > mostOfOne && (
        <p class="dim">
          {shown.length - mostOfOne} others: <code>tiffany dump</code> has all.
        </p>
      )}
    </Card>
  );
}
