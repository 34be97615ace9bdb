// A task, its parent and its children down to the third generation, as a tree from left to right.
import { useEffect, useState } from 'preact/hooks';
import { get } from './api';
import type { Task, TaskPage } from './api_types';
import { changed } from './live';
import { Copy, Empty, signs } from './parts';
import { link } from './route';
import { shortId } from './text';

interface Node {
  task: Task;
  children: Node[];
  more: boolean; // has children that are not shown
}

const depth = 3;
const mostOfOne = 20;
const mostOfAll = 100;
const width = 190;
const height = 44;

// `room`: how many tasks may still be added.
async function below(
  task: Task,
  levels: number,
  room: { left: number },
  abort: AbortSignal,
): Promise<Node> {
  const path = `/tasks?parent=${task.id}&limit=${mostOfOne}`;
  const page = await get<TaskPage>(path, abort);
  if (levels === 0 || room.left <= 0) return { task, children: [], more: page.tasks.length > 0 };
  room.left -= page.tasks.length;
  const children: Node[] = [];
  for (const each of page.tasks) children.push(await below(each, levels - 1, room, abort));
  return { task, children, more: page.next !== undefined };
}

interface Placed {
  node: Node;
  x: number;
  y: number;
  parent?: Placed;
}

// A leaf has a row of its own; what has children is in the middle of them.
function placed(node: Node, level: number, parent: Placed | undefined, all: Placed[]): Placed {
  const here: Placed = { node, x: level * (width + 60), y: 0, parent };
  all.push(here);
  const children = node.children.map((each) => placed(each, level + 1, here, all));
  if (children.length === 0) {
    const rows = all.filter((each) => each.node.children.length === 0).length;
    here.y = (rows - 1) * (height + 14);
  } else {
    here.y = (children[0].y + children[children.length - 1].y) / 2;
  }
  return here;
}

export function Graph({ task }: { task: Task }) {
  const [root, setRoot] = useState<Node | null>(null);
  const number = changed.value.number;
  useEffect(() => {
    const abort = new AbortController();
    const load = async () => {
      const node = await below(task, depth, { left: mostOfAll }, abort.signal);
      if (!task.parent) return setRoot(node);
      const parent = await get<Task>(`/tasks/${task.parent}`, abort.signal);
      setRoot({ task: parent, children: [node], more: true });
    };
    load().catch(() => undefined); // the header says that the daemon does not answer
    return () => abort.abort();
  }, [task.id, number]);
  if (!root) return null;
  if (root.children.length === 0) {
    return (
      <Empty title="This task has neither parent nor children">
        <p>
          A task that starts others with <code>flow.spawn</code> is drawn here with them, and with
          the way that a failure takes.
        </p>
      </Empty>
    );
  }
  const all: Placed[] = [];
  placed(root, 0, undefined, all);
  // With room for the words beside a child that failed.
  const right = Math.max(...all.map((each) => each.x)) + width + 220;
  const bottom = Math.max(...all.map((each) => each.y)) + height + 4;
  return (
    <>
    <p><Copy text={`tiffany tree ${task.id}`} /></p>
    <div class="scroll graph" tabIndex={0} role="region" aria-label="Graph of tasks">
      <svg width={right} height={bottom} role="group" aria-label={`${all.length} tasks`}>
        {all
          .filter((each) => each.parent)
          .map((each) => {
            const from = each.parent!;
            const x1 = from.x + width;
            const y1 = from.y + height / 2;
            const y2 = each.y + height / 2;
            const failed = each.node.task.status === 'failed';
            return (
              <g key={each.node.task.id}>
                <path
                  class={failed ? 'edge failed' : 'edge'}
                  d={`M${x1},${y1} C${x1 + 30},${y1} ${each.x - 30},${y2} ${each.x},${y2}`}
                />
                {failed && (
                  <text class="small" x={each.x + width + 8} y={y2 + 4}>
                    ← its failure goes to {from.node.task.type}
                  </text>
                )}
              </g>
            );
          })}
        {all.map(({ node, x, y }) => (
          <a
            key={node.task.id}
            href={link(`task/${node.task.id}/graph`)}
          >
            <rect
              class={`node ${node.task.status}${node.task.id === task.id ? ' this' : ''}`}
              x={x + 1}
              y={y + 1}
              width={width}
              height={height}
              rx={5}
            />
            <text x={x + 10} y={y + 18}>
              {signs[node.task.status]} {node.task.type.slice(0, 22)}
            </text>
            <text class="small" x={x + 10} y={y + 35}>
              {shortId(node.task.id)} {node.task.status}
              {node.more ? ' …' : ''}
            </text>
          </a>
        ))}
      </svg>
    </div>
    </>
  );
}
