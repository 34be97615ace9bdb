// A task, its parent and its children down to the third generation, as a tree from left to right.
import { useEffect, useState } from 'preact/hooks';
import { get } from './api';
import type { Task, TaskPage } from './api_types';
import { changed } from './live';
import { Copy, Empty, Scroll, signs } from './parts';
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

// A box of a drawing, with what hangs on it.
export interface Box {
  key: string;
  href: string;
  look: string; // classes
  lines: [string, string];
  beside?: string; // what its edge means, when that is a failure
  boxes: Box[];
}

interface Placed {
  box: Box;
  x: number;
  y: number;
  parent?: Placed;
}

// A leaf has a row of its own; what has children is in the middle of them.
function placed(box: Box, level: number, parent: Placed | undefined, all: Placed[]): Placed {
  const here: Placed = { box, x: level * (width + 60), y: 0, parent };
  all.push(here);
  const children = box.boxes.map((each) => placed(each, level + 1, here, all));
  if (children.length === 0) {
    const rows = all.filter((each) => each.box.boxes.length === 0).length;
    here.y = (rows - 1) * (height + 14);
  } else {
    here.y = (children[0].y + children[children.length - 1].y) / 2;
  }
  return here;
}

// From left to right. `things`: what the boxes are.
export function Boxes({ root, label, things }: { root: Box; label: string; things: string }) {
  const all: Placed[] = [];
  placed(root, 0, undefined, all);
  // With room for the words beside a child that failed.
  const words = all.some((each) => each.box.beside) ? 220 : 4;
  const right = Math.max(...all.map((each) => each.x)) + width + words;
  const bottom = Math.max(...all.map((each) => each.y)) + height + 4;
  return (
    <Scroll graph label={label}>
      <svg width={right} height={bottom} role="group" aria-label={`${all.length} ${things}`}>
        {all
          .filter((each) => each.parent)
          .map(({ box, x, y, parent }) => {
            const x1 = parent!.x + width;
            const y1 = parent!.y + height / 2;
            const y2 = y + height / 2;
            return (
              <g key={box.key}>
                <path
                  class={box.beside ? 'edge failed' : 'edge'}
                  d={`M${x1},${y1} C${x1 + 30},${y1} ${x - 30},${y2} ${x},${y2}`}
                />
                {box.beside && (
                  <text class="small" x={x + width + 8} y={y2 + 4}>
                    {box.beside}
                  </text>
                )}
              </g>
            );
          })}
        {all.map(({ box, x, y }) => (
          <a key={box.key} href={box.href} aria-label={box.lines.join(' ')}>
            {/* Cuts off what is wider than the box. */}
            <svg x={x - 1} y={y - 1} width={width + 4} height={height + 4}>
              <rect class={`node ${box.look}`} x={2} y={2} width={width} height={height} rx={5} />
              <text x={11} y={19}>
                {box.lines[0]}
              </text>{' '}
              <text class="small" x={11} y={36}>
                {box.lines[1]}
              </text>
            </svg>
          </a>
        ))}
      </svg>
    </Scroll>
  );
}

function boxOf({ task, children, more }: Node, shown: string, parent?: Task): Box {
  const { id, status, type } = task;
  return {
    key: id,
    href: link(`task/${id}/graph`),
    look: `${status}${id === shown ? ' this' : ''}`,
    lines: [
      `${signs[status]} ${type.slice(0, 22)}`,
      `${shortId(id)} ${status}${more ? ' …' : ''}`,
    ],
    beside: parent && status === 'failed' ? `← its failure goes to ${parent.type}` : undefined,
    boxes: children.map((each) => boxOf(each, shown, task)),
  };
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
  return (
    <>
      <p>
        <Copy text={`tiffany tree ${task.id}`} />
      </p>
      <Boxes root={boxOf(root, task.id)} label="Graph of tasks" things="tasks" />
    </>
  );
}
