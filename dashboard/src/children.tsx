// The tasks that a task has started.
import type { Task, TaskPage } from './api_types';
import { useAsk } from './live';
import { Badge, Card, TaskLink } from './parts';
import { link } from './route';

export function Children({ task }: { task: Task }) {
  const page = useAsk<TaskPage>(`/tasks?parent=${task.id}&limit=20&order=newest`).data;
  if (!page || page.tasks.length === 0) return null;
  return (
    <Card title="Children">
      <ul class="plain">
        {page.tasks.map((each) => (
          <li key={each.id}>
            <Badge status={each.status} /> <TaskLink id={each.id} /> {each.type}
          </li>
        ))}
      </ul>
      {page.next && <a href={link('tasks', { parent: task.id })}>All children</a>}
    </Card>
  );
}
