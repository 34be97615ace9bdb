// A plan as a graph from left to right, with the state of each step when it runs.
import type { PlanGraph, PlanUnit } from './api_types';
import { Scroll } from './parts';

const width = 170;
const height = 44;
const gapX = 46;
const gapY = 12;

type Node = PlanGraph['nodes'][number];
interface Placed {
  node?: Node;
  x: number;
  y: number;
}

export interface StepState {
  state: string; // as of a unit
  words: string; // with how many of a foreach
}

// From the worst to the best: what a step with several units is called.
const order = [
  'failed',
  'awaiting approval',
  'running',
  'pausing',
  'waiting',
  'done',
  'skipped',
];
export const looks: Record<string, string> = {
  failed: 'failed',
  'awaiting approval': 'paused',
  running: 'running',
  pausing: 'paused',
  waiting: 'queued',
  done: 'completed',
  skipped: 'cancelled',
};
export const marks: Record<string, string> = {
  failed: '✗',
  'awaiting approval': '?',
  running: '▶',
  pausing: '‖',
  waiting: '…',
  done: '✓',
  skipped: '⊘',
};

export function stateOf(name: string, units: PlanUnit[]): StepState | undefined {
  const own = units.filter((unit) => unit.step === name);
  if (own.length === 0) return undefined;
  const state = order.find((each) => own.some((unit) => unit.state === each)) ?? own[0].state;
  const good = own.filter((unit) => unit.state === 'done').length;
  return { state, words: own.length > 1 ? `${state} ${good}/${own.length}` : state };
}

// A place in a column: a step, or where an edge between others passes by.
interface Slot {
  name: string;
  node?: Node;
  before: string[]; // slots in the column to the left
}

// The columns of a phase. An edge over several columns has a slot in each of those between, so that
// it does not run through a step.
function columnsOf(nodes: Node[], edges: string[][]): Slot[][] {
  const columns: Slot[][] = [];
  const column = (level: number) => (columns[level] ??= []);
  const slots = new Map<string, Slot>();
  for (const node of nodes) {
    const slot = { name: node.name, node, before: [] };
    slots.set(node.name, slot);
    column(node.level).push(slot);
  }
  for (const [from, to] of edges) {
    const a = slots.get(from)?.node;
    const b = slots.get(to)?.node;
    if (!a || !b) continue;
    let last = from;
    for (let level = a.level + 1; level < b.level; level += 1) {
      const name = `${from} ${to} ${level}`;
      column(level).push({ name, before: [last] });
      last = name;
    }
    slots.get(to)!.before.push(last);
  }
  // Beside those to the left that lead to them.
  for (let i = 1; i < columns.length; i += 1) {
    const rows = new Map(columns[i - 1].map((slot, row) => [slot.name, row]));
    const middle = ({ before }: Slot) =>
      before.reduce((sum, name) => sum + (rows.get(name) ?? 0), 0) / (before.length || 1);
    columns[i].sort((a, b) => middle(a) - middle(b));
  }
  return columns;
}

// Phases one below the other, a column for each level. Slots without a step are places of edges.
export function layout(graph: PlanGraph): {
  placed: Map<string, Placed>;
  phases: [string, number][]; // with where their names stand
} {
  const placed = new Map<string, Placed>();
  const phases: [string, number][] = [];
  let top = 0;
  for (const phase of ['steps', 'on_failure', 'finally']) {
    const nodes = graph.nodes.filter((node) => node.phase === phase);
    if (nodes.length === 0) continue;
    if (phase !== 'steps') {
      phases.push([phase, top + 14]);
      top += 22;
    }
    const columns = columnsOf(nodes, graph.edges);
    columns.forEach((slots, level) =>
      slots.forEach(({ name, node }, row) => {
        placed.set(name, { node, x: level * (width + gapX), y: top + row * (height + gapY) });
      }),
    );
    top += Math.max(...columns.map((slots) => slots.length)) * (height + gapY) + 6;
  }
  return { placed, phases };
}

// From the right side of a step, past others, to the left side of another.
function edgePath(from: string, to: string, placed: Map<string, Placed>): string {
  const a = placed.get(from);
  const b = placed.get(to);
  if (!a || !b) return '';
  let x = a.x + width;
  let y = a.y + height / 2;
  let path = `M${x},${y}`;
  const bend = (toX: number, toY: number) => {
    path += ` C${x + 24},${y} ${toX - 24},${toY} ${toX},${toY}`;
    [x, y] = [toX, toY];
  };
  for (let level = a.node!.level + 1; level < b.node!.level; level += 1) {
    const by = placed.get(`${from} ${to} ${level}`);
    if (!by) continue;
    bend(by.x, by.y + height / 2);
    x += width;
    path += ` L${x},${y}`;
  }
  bend(b.x, b.y + height / 2);
  return path;
}

const mostNodes = 300;

export function PlanPicture({
  graph,
  units = [],
  chosen,
  choose,
}: {
  graph: PlanGraph;
  units?: PlanUnit[];
  chosen?: string;
  choose?: (step: string) => void;
}) {
  if (graph.nodes.length > mostNodes) {
    return <p class="dim">{graph.nodes.length} steps are too many for a picture.</p>;
  }
  const { placed, phases } = layout(graph);
  const slots = [...placed.values()];
  const all = slots.flatMap(({ node, x, y }) => (node ? [{ node, x, y }] : []));
  const right = Math.max(...slots.map((each) => each.x)) + width + 4;
  const bottom = Math.max(...slots.map((each) => each.y)) + height + 4;
  const states = new Map(all.map(({ node }) => [node.name, stateOf(node.name, units)]));
  return (
    <Scroll graph label="Graph of the plan">
      <svg width={right} height={bottom} role="group" aria-label={`${all.length} steps`}>
        {phases.map(([name, y]) => (
          <text key={name} class="small" x={2} y={y}>
            {name}:
          </text>
        ))}
        {graph.edges.map(([from, to]) => {
          const failed = states.get(from)?.state === 'failed';
          return (
            <path
              key={`${from} ${to}`}
              class={failed ? 'edge failed' : 'edge'}
              d={edgePath(from, to, placed)}
            />
          );
        })}
        {all.map(({ node, x, y }) => {
          const state = states.get(node.name);
          return (
            <g
              key={node.name}
              role={choose ? 'button' : undefined}
              aria-pressed={choose ? chosen === node.name : undefined}
              tabindex={choose ? 0 : undefined}
              data-step={node.name}
              data-state={state?.state}
              onClick={() => choose?.(node.name)}
              onKeyDown={(event) => {
                if (event.key === 'Enter') choose?.(node.name);
              }}
            >
              <rect
                class={`node ${looks[state?.state ?? ''] ?? ''} ${
                  chosen === node.name ? 'this' : ''
                }`}
                x={x + 1}
                y={y + 1}
                width={width}
                height={height}
                rx={node.kind === 'approval' ? 20 : 5}
              />
              <text x={x + 12} y={y + 18}>
                {marks[state?.state ?? ''] ?? ''} {node.name.slice(0, 20)}
              </text>
              <text class="small" x={x + 12} y={y + 35}>
                {state ? state.words : node.kind}
              </text>
            </g>
          );
        })}
      </svg>
    </Scroll>
  );
}
