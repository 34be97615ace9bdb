// Steps and waits of a task on an axis of time, on a canvas: only rows that are seen are drawn.
//
// Wheel: zoom; drag or arrow keys: move; + and -: zoom; 0: everything. The table of steps below it
// has the same data for those who cannot see a canvas.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Asked, Kind, Story } from './history';
import { duration } from './text';

export interface Bar {
  row: number;
  began: number; // microseconds
  ended: number;
  kind: Kind | 'failed';
  open: boolean; // is still going on
}

const rowHeight = 20;
const names = 190; // pixels for the names of rows
const axis = 22;

export function barsOf(story: Story, now: number): Bar[] {
  const bars: Bar[] = [];
  story.asked.forEach((asked, row) => {
    const until = asked.ended ?? story.ended ?? now;
    const open = asked.ended === undefined && story.ended === undefined;
    if (asked.attempts.length < 2) {
      const kind = asked.failed ? 'failed' : asked.kind;
      bars.push({ row, began: asked.began, ended: until, kind, open });
      return;
    }
    asked.attempts.forEach((attempt, i) => {
      const last = i === asked.attempts.length - 1;
      bars.push({
        row,
        began: attempt.began,
        ended: attempt.ended ?? until,
        kind: last && !asked.failed ? 'step' : 'failed',
        open: last && open,
      });
    });
  });
  return bars;
}

interface Window {
  from: number;
  to: number;
  top: number; // the first row
}

function colours(canvas: HTMLCanvasElement): (name: string) => string {
  const style = getComputedStyle(canvas);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

// Steps of 1, 2 or 5 times a power of ten, at least 90 pixels apart.
function tick(span: number, width: number): number {
  const least = (span / Math.max(1, width)) * 90;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least) ?? power * 10;
}

// A pattern for each kind, so that colour is not needed.
function drawPattern(
  ctx: CanvasRenderingContext2D,
  kind: Bar['kind'],
  x: number,
  y: number,
  w: number,
) {
  const height = rowHeight - 8;
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, height);
  ctx.clip();
  ctx.beginPath();
  const step = kind === 'timer' ? 7 : 9;
  if (kind === 'timer' || kind === 'signal') {
    for (let i = x + 3; i < x + w; i += step) {
      ctx.moveTo(i, y + height / 2);
      ctx.lineTo(i + 2, y + height / 2);
    }
  } else if (kind === 'promise' || kind === 'failed') {
    for (let i = x - height; i < x + w; i += step) {
      ctx.moveTo(i, y + height);
      ctx.lineTo(i + height, y);
    }
  } else if (kind === 'child') {
    ctx.moveTo(x, y + height / 2 - 2);
    ctx.lineTo(x + w, y + height / 2 - 2);
    ctx.moveTo(x, y + height / 2 + 2);
    ctx.lineTo(x + w, y + height / 2 + 2);
  }
  ctx.stroke();
  ctx.restore();
}

export function draw(
  canvas: HTMLCanvasElement,
  rows: string[],
  bars: Bar[],
  seen: Window,
  zero: number,
  chosen: number,
): void {
  const ctx = canvas.getContext('2d');
  if (!ctx) return;
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== width * scale) canvas.width = width * scale;
  if (canvas.height !== height * scale) canvas.height = height * scale;
  const colour = colours(canvas);
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, width, height);
  ctx.font = '12px system-ui, sans-serif';
  ctx.textBaseline = 'middle';
  const span = Math.max(1, seen.to - seen.from);
  const room = width - names;
  const x = (time: number) => names + ((time - seen.from) / span) * room;
  ctx.strokeStyle = colour('line');
  ctx.fillStyle = colour('dim');
  const every = tick(span, room);
  for (let at = Math.ceil((seen.from - zero) / every) * every; at <= seen.to - zero; at += every) {
    const place = Math.round(x(zero + at)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(place, axis);
    ctx.lineTo(place, height);
    ctx.stroke();
    ctx.fillText(duration(at / 1000), place + 3, axis / 2);
  }
  const first = Math.floor(seen.top);
  const last = first + Math.ceil((height - axis) / rowHeight);
  const y = (row: number) => axis + (row - seen.top) * rowHeight;
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, axis, width, height - axis);
  ctx.clip();
  for (let row = first; row <= last && row < rows.length; row += 1) {
    if (row === chosen) {
      ctx.fillStyle = colour('shade');
      ctx.fillRect(0, y(row), width, rowHeight);
    }
    ctx.fillStyle = colour('ink');
    ctx.fillText(rows[row], 6, y(row) + rowHeight / 2, names - 12);
  }
  // Bars are in the order of their rows.
  let low = 0;
  for (let high = bars.length; low < high;) {
    const middle = (low + high) >> 1;
    if (bars[middle].row < first) low = middle + 1;
    else high = middle;
  }
  ctx.beginPath();
  ctx.rect(names, axis, room, height - axis);
  ctx.clip();
  for (let i = low; i < bars.length && bars[i].row <= last; i += 1) {
    const bar = bars[i];
    if (bar.ended < seen.from || bar.began > seen.to) continue;
    const left = Math.max(names - 2, x(bar.began));
    const w = Math.max(2, Math.min(width + 2, x(bar.ended)) - left);
    const top = y(bar.row) + 4;
    ctx.fillStyle = colour(bar.kind);
    ctx.fillRect(left, top, w, rowHeight - 8);
    ctx.strokeStyle = colour('page');
    ctx.lineWidth = 1;
    if (bar.kind !== 'step' && w > 4) drawPattern(ctx, bar.kind, left, top, w);
    if (bar.open) {
      ctx.strokeStyle = colour('ink');
      ctx.setLineDash([2, 2]);
      ctx.strokeRect(left + 0.5, top + 0.5, w - 1, rowHeight - 9);
      ctx.setLineDash([]);
    }
  }
  ctx.restore();
}

const legend: [Kind | 'failed', string][] = [
  ['step', 'step'],
  ['timer', 'sleep'],
  ['promise', 'promise'],
  ['child', 'child'],
  ['signal', 'signal'],
  ['failed', 'failed attempt'],
];

export function Timeline({
  story,
  now,
  chosen,
  choose,
}: {
  story: Story;
  now: number;
  chosen: string;
  choose: (asked: Asked) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [seen, setSeen] = useState<Window | null>(null);
  const zero = story.began;
  const rows = story.asked.map((asked) => asked.id);
  const bars = barsOf(story, now);
  const end = Math.max(story.ended ?? now, story.last, zero + 1000);
  const whole: Window = { from: zero, to: end + (end - zero) * 0.03, top: 0 };
  const view = seen ?? whole;
  const chosenRow = story.asked.findIndex((asked) => asked.id === chosen);
  useEffect(() => {
    const box = canvas.current;
    if (!box) return;
    const paint = () => draw(box, rows, bars, view, zero, chosenRow);
    const frame = requestAnimationFrame(paint);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', paint);
    addEventListener('resize', paint);
    return () => {
      cancelAnimationFrame(frame);
      dark.removeEventListener('change', paint);
      removeEventListener('resize', paint);
    };
  });

  const most = Math.max(0, rows.length - 12);
  const zoom = (factor: number, share = 0.5) => {
    const span = Math.max(20, (view.to - view.from) * factor);
    const at = view.from + (view.to - view.from) * share;
    setSeen({ ...view, from: at - span * share, to: at + span * (1 - share) });
  };
  const move = (share: number, rowsDown = 0) => {
    const by = (view.to - view.from) * share;
    const top = Math.max(0, Math.min(most, view.top + rowsDown));
    setSeen({ from: view.from + by, to: view.to + by, top });
  };
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    if (event.shiftKey || rows.length <= 12) {
      const box = canvas.current!.getBoundingClientRect();
      const share = (event.clientX - box.left - names) / (box.width - names);
      zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.max(0, Math.min(1, share)));
    } else {
      move(0, event.deltaY > 0 ? 2 : -2);
    }
  };
  useEffect(() => {
    const box = canvas.current;
    box?.addEventListener('wheel', wheel, { passive: false });
    return () => box?.removeEventListener('wheel', wheel);
  });
  const drag = (event: PointerEvent) => {
    const box = canvas.current!;
    const began = { x: event.clientX, y: event.clientY, view };
    let moved = false;
    const onMove = (now: PointerEvent) => {
      moved ||= Math.abs(now.clientX - began.x) + Math.abs(now.clientY - began.y) > 3;
      const span = began.view.to - began.view.from;
      const by = ((began.x - now.clientX) / (box.clientWidth - names)) * span;
      const top = began.view.top + (began.y - now.clientY) / rowHeight;
      setSeen({
        from: began.view.from + by,
        to: began.view.to + by,
        top: Math.max(0, Math.min(most, top)),
      });
    };
    const onUp = (now: PointerEvent) => {
      removeEventListener('pointermove', onMove);
      removeEventListener('pointerup', onUp);
      const row = Math.floor(
        (now.clientY - box.getBoundingClientRect().top - axis) / rowHeight + view.top,
      );
      if (!moved && story.asked[row]) choose(story.asked[row]);
    };
    addEventListener('pointermove', onMove);
    addEventListener('pointerup', onUp);
  };
  const key = (event: KeyboardEvent) => {
    const moves: Record<string, () => void> = {
      ArrowLeft: () => move(-0.1),
      ArrowRight: () => move(0.1),
      ArrowUp: () => move(0, -1),
      ArrowDown: () => move(0, 1),
      '+': () => zoom(0.8),
      '-': () => zoom(1.25),
      '0': () => setSeen(null),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  };
  const height = axis + rowHeight * Math.min(Math.max(rows.length, 2), 16) + 4;
  return (
    <div class="timeline">
      <div class="bar">
        <span class="legend">
          {legend.map(([kind, words]) => (
            <span key={kind}>
              <i class={`swatch ${kind}`} /> {words}
            </span>
          ))}
        </span>
        <span class="grow" />
        <button type="button" onClick={() => zoom(0.5)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => zoom(2)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={() => setSeen(null)}>
          All
        </button>
      </div>
      <canvas
        ref={canvas}
        height={height}
        style={{ height: `${height}px` }}
        tabIndex={0}
        role="img"
        onPointerDown={drag}
        onKeyDown={key}
        data-bars={bars.length}
        aria-label={`Timeline of ${rows.length} steps and waits; the table below has the same data`}
      />
    </div>
  );
}
