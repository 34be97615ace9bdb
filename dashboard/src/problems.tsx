// What needs somebody: tasks of the process in trouble, and durable tasks that failed or stopped.
import { useAsk } from './live';
import type { Problems as Found, Status, Task, TaskPage } from './api_types';
import { Circle, circlesOf } from './circle';
import { Badge, Copy, Empty, Failure, TaskLink, When } from './parts';
import { link } from './route';

// Failures with the same cause are one line: numbers and ids in a sentence are not the cause.
export function causeOf(detail: string): string {
  return detail.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…').replace(/\d+/g, '#');
}

function Group({ cause, tasks }: { cause: string; tasks: Task[] }) {
  return (
    <section class="card">
      <h3>
        <Badge status={tasks[0].status} /> {tasks.length > 1 && `${tasks.length} × `}
        {(tasks.length > 1 ? cause : tasks[0].detail) || 'without a reason'}
      </h3>
      <ul class="plain">
        {tasks.slice(0, 10).map((task) => (
          <li key={task.id}>
            <TaskLink id={task.id} /> {task.type} <When at={task.began} />{' '}
            {tasks.length > 1 && <span class="why">{task.detail}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

const troubled: Status[] = ['quarantined', 'diverged', 'failed'];

function Durable({ status }: { status: Status }) {
  const page = useAsk<TaskPage>(`/tasks?status=${status}&limit=100&order=newest`);
  if (page.error && !page.data) return <Failure error={page.error} />;
  const groups = new Map<string, Task[]>();
  for (const task of page.data?.tasks ?? []) {
    const cause = causeOf(task.detail ?? '');
    groups.set(cause, [...(groups.get(cause) ?? []), task]);
  }
  const count = page.data?.counts[status] ?? 0;
  return (
    <>
      {[...groups].map(([cause, tasks]) => (
        <Group key={cause} cause={cause} tasks={tasks} />
      ))}
      {count > 100 && (
        <p>
          <a href={link('tasks', { status })}>
            All {count} that are {status}
          </a>
        </p>
      )}
    </>
  );
}

// The daemon looks at every task of its process to answer.
const scanRest = 10_000;

export function useProblems() {
  return useAsk<Found>('/problems', undefined, scanRest);
}

// Circles, and what is not told with one of them: a task in a circle holds what others wait for.
function sorted(lints: Found['problems']) {
  const circles = circlesOf(lints);
  const inside = new Set(circles.flatMap((each) => each.lints.map((lint) => lint.tid)));
  const others = lints.filter(
    (lint) => lint.kind !== 'deadlock' && !(lint.kind === 'hoarder' && inside.has(lint.tid)),
  );
  return { circles, others };
}

// As many as the view lists.
export function useTrouble(counts: Record<string, number>): number {
  const { circles, others } = sorted(useProblems().data?.problems ?? []);
  const durable = troubled.reduce((sum, each) => sum + (counts[each] ?? 0), 0);
  return circles.length + others.length + durable;
}

export function Problems({ counts }: { counts: Record<string, number> }) {
  const found = useProblems();
  const durable = troubled.filter((each) => (counts[each] ?? 0) > 0);
  const lints = found.data?.problems ?? [];
  const { circles, others } = sorted(lints);
  return (
    <section aria-label="Problems">
      <div class="bar">
        <h1>Problems</h1>
        <span class="grow" />
        <Copy text="tiffany problems" />
      </div>
      {found.error && !found.data && <Failure error={found.error} />}
      {found.data && lints.length === 0 && durable.length === 0 && (
        <Empty title="No problems">
          <p>
            Deadlocks, stalls, tasks that hoard or starve, failures and tasks whose code no longer
            fits their log are listed here.
          </p>
        </Empty>
      )}
      {circles.map(({ members, lints: those }) => (
        <section class="card" key={members.join()} aria-label="Deadlock">
          <h3>
            <span class="badge failed">deadlock</span> {members.length} tasks of the process wait
            for one another
          </h3>
          <Circle members={members} />
          <details>
            <summary>In words</summary>
            <pre class="json">{those.map((each) => each.text).join('\n')}</pre>
          </details>
        </section>
      ))}
      {others.map((lint) => (
        <section class="card" key={`${lint.kind} ${lint.tid}`}>
          <h3>
            <span class="badge failed">{lint.kind}</span> a task of the process
          </h3>
          <pre class="json">{lint.text}</pre>
        </section>
      ))}
      {durable.map((each) => (
        <Durable key={each} status={each} />
      ))}
    </section>
  );
}
