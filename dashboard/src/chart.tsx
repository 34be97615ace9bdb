// Lines over time on a canvas: a few series of a few hundred points, with a readout at the mouse.
import { useEffect, useRef, useState } from 'preact/hooks';
import { number, timeOfDay } from './text';

export interface Line {
  label: string;
  values: (number | null)[];
}

const height = 150;
const left = 50;
const bottom = 18;
const colours = ['running', 'promise', 'completed', 'signal'];
// Lines differ by their dashes, too.
const dashes = [[], [6, 3], [2, 2], [8, 2, 2, 2]];

// 1, 2 or 5 times a power of ten, not below the value.
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value) ?? power * 10;
}

function draw(canvas: HTMLCanvasElement, times: number[], lines: Line[], at: number): void {
  const ctx = canvas.getContext('2d');
  if (!ctx) return;
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = width * scale;
  canvas.height = height * scale;
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, width, height);
  ctx.font = '11px system-ui, sans-serif';
  const top = roundUp(Math.max(1, ...lines.flatMap((line) => line.values.map((v) => v ?? 0))));
  const last = times.at(-1) ?? 0;
  // At least a minute, so that the first points do not jump.
  const first = Math.min(times[0] ?? 0, last - 60);
  const x = (time: number) => left + ((time - first) / (last - first || 1)) * (width - left - 6);
  const y = (value: number) => height - bottom - (value / top) * (height - bottom - 8);
  ctx.strokeStyle = colour('line');
  ctx.fillStyle = colour('dim');
  ctx.textAlign = 'right';
  for (const share of [0, 0.5, 1]) {
    ctx.beginPath();
    ctx.moveTo(left, y(top * share) + 0.5);
    ctx.lineTo(width, y(top * share) + 0.5);
    ctx.stroke();
    ctx.fillText(number(top * share), left - 6, y(top * share) + 4);
  }
  ctx.textAlign = 'center';
  for (let time = Math.ceil(first / 30) * 30; time < last; time += last - first > 150 ? 60 : 30) {
    if (x(time) > left + 24) ctx.fillText(timeOfDay(new Date(time * 1000)), x(time), height - 5);
  }
  lines.forEach((line, i) => {
    ctx.strokeStyle = colour(colours[i % colours.length]);
    ctx.lineWidth = 1.6;
    ctx.setLineDash(dashes[i % dashes.length]);
    ctx.beginPath();
    let pen = false;
    line.values.forEach((value, j) => {
      if (value === null) {
        pen = false;
      } else if (pen) {
        ctx.lineTo(x(times[j]), y(value));
      } else {
        ctx.moveTo(x(times[j]), y(value));
        pen = true;
      }
    });
    ctx.stroke();
  });
  ctx.setLineDash([]);
  if (at >= 0 && at < times.length) {
    ctx.strokeStyle = colour('dim');
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x(times[at]), 8);
    ctx.lineTo(x(times[at]), height - bottom);
    ctx.stroke();
  }
}

export function Chart({
  title,
  unit,
  times,
  lines,
}: {
  title: string;
  unit: string;
  times: number[];
  lines: Line[];
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState(-1);
  useEffect(() => {
    const paint = () => canvas.current && draw(canvas.current, times, lines, at);
    paint();
    addEventListener('resize', paint);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', paint);
    return () => {
      removeEventListener('resize', paint);
      dark.removeEventListener('change', paint);
    };
  });
  const point = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const last = times.at(-1) ?? 0;
    const first = Math.min(times[0] ?? 0, last - 60);
    const time =
      first + ((event.clientX - box.left - left) / (box.width - left - 6)) * (last - first);
    const behind = times.findIndex((each) => each >= time);
    setAt(behind < 0 ? times.length - 1 : behind);
  };
  const place = at >= 0 && at < times.length ? at : times.length - 1;
  const said = lines
    .map((line) => `${line.label} ${number(Math.round(line.values[place] ?? 0))}`)
    .join(', ');
  const when = at >= 0 && times[place] ? ` at ${timeOfDay(new Date(times[place] * 1000))}` : '';
  return (
    <figure class="card chart">
      <figcaption>
        <b>{title}</b>{' '}
        <span class="dim">
          {said} {unit}
          {when}
        </span>
      </figcaption>
      <canvas
        ref={canvas}
        style={{ height: `${height}px` }}
        role="img"
        aria-label={`${title}: ${said} ${unit}`}
        onMouseMove={point}
        onMouseLeave={() => setAt(-1)}
      />
    </figure>
  );
}
