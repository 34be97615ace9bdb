// Bars on an axis of time that can be moved. Wheel: zoom; drag or arrow keys: move; + and -: zoom;
// 0: everything. Views with one have the same data in a table for those who cannot see a canvas.
import { useEffect, useRef, useState } from 'preact/hooks';
import { arrowsIn, axis, draw, names, revealed, rowHeight } from './gantt_draw';
import type { Arrow, Bar, Window } from './gantt_draw';
import { Button, Swatch } from './parts';

const mostRows = 16; // in sight

export function Gantt({
  rows,
  bars,
  arrows,
  zero,
  end,
  chosen,
  choose,
  legend,
  label,
}: {
  rows: string[];
  bars: Bar[];
  arrows?: Arrow[];
  zero: number;
  end: number;
  chosen: number;
  choose: (row: number, time: number) => void;
  legend: [string, string][];
  label: string;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [seen, setSeen] = useState<Window | null>(null);
  const whole: Window = { from: zero, to: end + (end - zero) * 0.03, top: 0 };
  const view = seen ?? whole;
  useEffect(() => {
    const box = canvas.current;
    if (!box) return;
    const paint = () => draw(box, rows, bars, view, zero, chosen, arrows);
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

  // A row that is chosen elsewhere is shown.
  useEffect(() => {
    const to = revealed(view, chosen, mostRows, rows.length);
    if (to !== view) setSeen(to);
  }, [chosen]);

  const most = Math.max(0, rows.length - 12);
  const zoom = (factor: number, share = 0.5) =>
    setSeen((now) => {
      const at = now ?? whole;
      const span = Math.max(1, (at.to - at.from) * factor);
      const fixed = at.from + (at.to - at.from) * share;
      return { ...at, from: fixed - span * share, to: fixed + span * (1 - share) };
    });
  const move = (share: number, rowsDown = 0) =>
    setSeen((now) => {
      const at = now ?? whole;
      const by = (at.to - at.from) * share;
      const top = Math.max(0, Math.min(most, at.top + rowsDown));
      return { from: at.from + by, to: at.to + by, top };
    });
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
    const span = began.view.to - began.view.from;
    const wide = box.clientWidth - names;
    let moved = false;
    const onMove = (now: PointerEvent) => {
      moved ||= Math.abs(now.clientX - began.x) + Math.abs(now.clientY - began.y) > 3;
      const by = ((began.x - now.clientX) / wide) * span;
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
      if (moved) return;
      const place = box.getBoundingClientRect();
      const row = Math.floor((now.clientY - place.top - axis) / rowHeight + view.top);
      const share = (now.clientX - place.left - names) / wide;
      if (rows[row] !== undefined) choose(row, began.view.from + share * span);
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
  const height = axis + rowHeight * Math.min(Math.max(rows.length, 2), mostRows) + 4;
  return (
    <div class="timeline">
      <div class="bar">
        <span class="legend">
          {legend.map(([kind, words]) => (
            <span key={kind}>
              <Swatch colour={kind} /> {words}
            </span>
          ))}
        </span>
        <span class="grow" />
        <Button onClick={() => zoom(0.5)} aria-label="Zoom in">+</Button>
        <Button onClick={() => zoom(2)} aria-label="Zoom out">−</Button>
        <Button onClick={() => setSeen(null)}>All</Button>
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
        data-span={Math.round(view.to - view.from)}
        data-arrows={arrows ? arrowsIn(arrows, view, chosen).length : undefined}
        aria-label={label}
      />
    </div>
  );
}
