// Tasks that wait for one another in a circle, drawn.
import type { Problems } from './api_types';
import { Scroll } from './parts';

type Lint = Problems['problems'][number];

// "... in turn (a -> b -> a). None of them ..." as [a, b]; nothing of another text.
export function circleOf(text: string): string[] {
  const found = / in turn \((.*)\)\. None of them/.exec(text);
  return found ? found[1].split(' -> ').slice(0, -1) : [];
}

// One for each circle, however many of its tasks are told of.
export function circlesOf(lints: Lint[]): { members: string[]; lints: Lint[] }[] {
  const all = new Map<string, { members: string[]; lints: Lint[] }>();
  for (const lint of lints) {
    const members = lint.kind === 'deadlock' ? circleOf(lint.text ?? '') : [];
    if (members.length === 0) continue;
    const key = [...members].sort().join('\n');
    const known = all.get(key) ?? { members, lints: [] };
    known.lints.push(lint);
    all.set(key, known);
  }
  return [...all.values()];
}

const width = 200;
const height = 40;
const gap = 50;
const mostShown = 12;

export function Circle({ members }: { members: string[] }) {
  const shown = members.slice(0, mostShown);
  const right = shown.length * (width + gap);
  const middle = 10 + height / 2;
  const back = 10 + height + 26;
  const from = right - gap - width / 2;
  return (
    <Scroll graph label="Circle of waits">
      <svg
        width={right}
        height={back + 10}
        role="img"
        aria-label={`${[...members, members[0]].join(' waits for ')}`}
      >
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            orient="auto"
          >
            <path d="M0,0 L8,4 L0,8 z" class="arrow" />
          </marker>
        </defs>
        {shown.map((name, i) => {
          const x = i * (width + gap);
          return (
            <g key={name}>
              <rect class="node failed" x={x + 1} y={10} width={width} height={height} rx={5} />
              <text x={x + 10} y={middle + 5}>
                {name.slice(0, 28)}
              </text>
              {i + 1 < shown.length && (
                <path
                  class="edge failed"
                  marker-end="url(#arrow)"
                  d={`M${x + width},${middle} L${x + width + gap},${middle}`}
                />
              )}
            </g>
          );
        })}
        <path
          class="edge failed"
          marker-end="url(#arrow)"
          d={`M${from},${10 + height} V${back} H${width / 2} V${12 + height}`}
        />
      </svg>
      {members.length > mostShown && <p class="dim">and {members.length - mostShown} others</p>}
    </Scroll>
  );
}
