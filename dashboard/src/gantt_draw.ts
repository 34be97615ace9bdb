// Bars on an axis of time, drawn on a canvas: only rows in sight, and in a row with many bars each
// pixel once. A hundred thousand bars take some milliseconds.
import { duration } from './text';

export interface Bar {
  row: number;
  began: number; // microseconds
  ended: number;
  kind: string; // also the name of its colour, which is written #rrggbb
  open?: boolean; // is still going on
}

// A task that made another one ready.
export interface Arrow {
  from: number; // row
  left: number; // microseconds
  to: number;
  right: number;
}

export interface Window {
  from: number;
  to: number;
  top: number; // the first row
}

export const rowHeight = 20;
export const names = 190; // pixels for the names of rows
export const axis = 22;
export const mostArrows = 200; // more than these are a black spot
const margin = 4; // above and below a bar
const thick = rowHeight - 2 * margin;
const mostSingle = 150; // bars of a row that are drawn one by one, with their patterns

// Steps of 1, 2 or 5 times a power of ten, at least 90 pixels apart.
function tick(span: number, width: number): number {
  const least = (span / Math.max(1, width)) * 90;
  const power = 10 ** Math.floor(Math.log10(Math.max(1e-3, least)));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least) ?? power * 10;
}

// A pattern for each kind, so that colour is not needed.
const patterns: Record<string, 'dots' | 'slanted' | 'lines' | 'upright'> = {
  timer: 'dots',
  signal: 'upright',
  promise: 'slanted',
  failed: 'slanted',
  child: 'lines',
  ready: 'upright',
  sleep: 'dots',
  io: 'lines',
  event: 'slanted',
};
// What is short and matters is drawn over what is long: 1.
const layerOf = (kind: string): number => (kind === 'run' || kind === 'ready' ? 1 : 0);

// A square of the pattern in the colours of the theme.
function tile(kind: string, fill: string, line: string, scale: number): HTMLCanvasElement {
  const made = document.createElement('canvas');
  made.width = made.height = rowHeight * scale;
  const ctx = made.getContext('2d')!;
  ctx.scale(scale, scale);
  ctx.fillStyle = fill;
  ctx.fillRect(0, 0, rowHeight, rowHeight);
  ctx.strokeStyle = line;
  ctx.beginPath();
  const middle = rowHeight / 2;
  const pattern = patterns[kind];
  if (pattern === 'lines') {
    for (const y of [middle - 2, middle + 2]) {
      ctx.moveTo(0, y + 0.5);
      ctx.lineTo(rowHeight, y + 0.5);
    }
  }
  for (let x = 0; pattern === 'dots' && x < rowHeight; x += 5) {
    ctx.moveTo(x, middle + 0.5);
    ctx.lineTo(x + 2, middle + 0.5);
  }
  for (let x = 2; pattern === 'upright' && x < rowHeight; x += 4) {
    ctx.moveTo(x + 0.5, 0);
    ctx.lineTo(x + 0.5, rowHeight);
  }
  for (let x = -rowHeight; pattern === 'slanted' && x <= rowHeight; x += 10) {
    ctx.moveTo(x, rowHeight);
    ctx.lineTo(x + rowHeight, 0);
  }
  ctx.stroke();
  return made;
}

// The first of those in order from `low` to `high` whose `key` is not below `value`.
function firstOf<T>(
  all: T[],
  value: number,
  key: (each: T) => number,
  low = 0,
  high = all.length,
): number {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(all[middle]) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The window with the row in it; the same one when it is there. `most`: rows that have room.
export function revealed(seen: Window, row: number, most: number, rows: number): Window {
  if (row < 0 || row >= rows || (row >= seen.top && row + 1 <= seen.top + most)) return seen;
  return { ...seen, top: row < seen.top ? row : row + 1 - most };
}

// Those in the window; of more than can be told apart those of the chosen row.
export function arrowsIn(arrows: Arrow[], seen: Window, chosen: number): Arrow[] {
  const begin = firstOf(arrows, seen.from, (each) => each.right);
  const found: Arrow[] = [];
  for (const only of [false, true]) {
    found.length = 0;
    let i = begin;
    for (; i < arrows.length && arrows[i].left <= seen.to && found.length <= mostArrows; i += 1) {
      const { from, to } = arrows[i];
      if (!only || from === chosen || to === chosen) found.push(arrows[i]);
    }
    if (found.length <= mostArrows) return found;
  }
  return [];
}

// One draw: the colours of the theme, and where times and rows are.
class Drawing {
  private readonly colours = new Map<string, string>();
  private readonly fills = new Map<string, CanvasPattern | string>();
  private readonly style: CSSStyleDeclaration;
  private readonly room: number;
  private readonly span: number;

  constructor(
    canvas: HTMLCanvasElement,
    private readonly ctx: CanvasRenderingContext2D,
    private readonly seen: Window,
    private readonly width: number,
    private readonly scale: number,
  ) {
    this.style = getComputedStyle(canvas);
    this.room = width - names;
    this.span = Math.max(1e-3, seen.to - seen.from);
  }

  colour(name: string): string {
    let found = this.colours.get(name);
    if (found === undefined) {
      found = this.style.getPropertyValue(`--${name}`).trim();
      this.colours.set(name, found);
    }
    return found;
  }
  x(time: number): number {
    return names + ((time - this.seen.from) / this.span) * this.room;
  }
  y(row: number): number {
    return axis + (row - this.seen.top) * rowHeight;
  }

  // The pattern of a kind. All rows begin at the same part of the tile.
  private fill(kind: string): CanvasPattern | string {
    let found = this.fills.get(kind);
    if (found === undefined) {
      found = this.colour(kind);
      if (patterns[kind]) {
        const square = tile(kind, found, this.colour('page'), this.scale);
        const made = this.ctx.createPattern(square, 'repeat')!;
        made.setTransform(new DOMMatrix([1 / this.scale, 0, 0, 1 / this.scale, 0, this.y(0)]));
        found = made;
      }
      this.fills.set(kind, found);
    }
    return found;
  }

  axis(zero: number, height: number): void {
    const { ctx, seen } = this;
    ctx.strokeStyle = this.colour('line');
    ctx.fillStyle = this.colour('dim');
    const every = tick(this.span, this.room);
    let at = Math.ceil((seen.from - zero) / every) * every;
    for (; at <= seen.to - zero; at += every) {
      const place = Math.round(this.x(zero + at)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(place, axis);
      ctx.lineTo(place, height);
      ctx.stroke();
      const words = Math.abs(at) < every / 2 ? '0' : duration(at / 1000);
      if (place + 3 + ctx.measureText(words).width < this.width)
        ctx.fillText(words, place + 3, axis / 2);
    }
  }

  // Bars `begin` to `end` are those of one row.
  bars(all: Bar[], begin: number, end: number): void {
    const { ctx } = this;
    const top = this.y(all[begin].row) + margin;
    for (const layer of [0, 1]) {
      for (let i = begin; i < end; i += 1) {
        const bar = all[i];
        if (layerOf(bar.kind) !== layer) continue;
        const left = Math.max(names - 2, this.x(bar.began));
        const w = Math.max(2, Math.min(this.width + 2, this.x(bar.ended)) - left);
        ctx.fillStyle = w > 4 ? this.fill(bar.kind) : this.colour(bar.kind);
        ctx.fillRect(left, top, w, thick);
        if (!bar.open) continue;
        ctx.strokeStyle = this.colour('ink');
        ctx.setLineDash([2, 2]);
        ctx.strokeRect(left + 0.5, top + 0.5, w - 1, thick - 1);
        ctx.setLineDash([]);
      }
    }
  }

  // The same for more bars than can be told apart: a line of pixels, made thick.
  manyBars(all: Bar[], begin: number, end: number, pixels: ImageData, line: number): void {
    const room = pixels.width;
    const into = new Uint32Array(pixels.data.buffer, line * room * 4, room);
    const over = new Uint8Array(room); // the layer of the pixel, and one
    const inks = new Map<string, [number, number]>();
    for (let i = begin; i < end; i += 1) {
      const bar = all[i];
      const left = Math.max(0, Math.floor(this.x(bar.began) - names));
      const right = Math.min(room, Math.max(left + 1, Math.ceil(this.x(bar.ended) - names)));
      let ink = inks.get(bar.kind);
      if (!ink) inks.set(bar.kind, (ink = [abgr(this.colour(bar.kind)), layerOf(bar.kind) + 1]));
      for (let x = left; x < right; x += 1) {
        if (over[x] >= ink[1]) continue;
        over[x] = ink[1];
        into[x] = ink[0];
      }
    }
  }

  arrows(all: Arrow[]): void {
    const { ctx } = this;
    ctx.strokeStyle = ctx.fillStyle = this.colour('ink');
    for (const { from, left, to, right } of all) {
      const [x1, x2] = [this.x(left), this.x(right)];
      const [y1, y2] = [this.y(from) + rowHeight / 2, this.y(to) + rowHeight / 2];
      const down = y2 > y1 ? 1 : -1;
      ctx.beginPath();
      ctx.moveTo(x1, y1);
      ctx.lineTo(x2, y2 - down * 4);
      ctx.stroke();
      ctx.beginPath();
      ctx.moveTo(x2, y2);
      ctx.lineTo(x2 - 3, y2 - down * 6);
      ctx.lineTo(x2 + 3, y2 - down * 6);
      ctx.fill();
    }
  }
}

// "#rrggbb" as a pixel of an ImageData.
function abgr(colour: string): number {
  const rgb = Number.parseInt(colour.slice(1), 16) || 0;
  return ((255 << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
}

const strip = (): HTMLCanvasElement => (kept ??= document.createElement('canvas'));
let kept: HTMLCanvasElement | undefined;

// `bars` are in the order of their rows and, of one row, of their beginnings; `arrows` in that of
// their ends.
export function draw(
  canvas: HTMLCanvasElement,
  rows: string[],
  bars: Bar[],
  seen: Window,
  zero: number,
  chosen: number,
  arrows: Arrow[] = [],
): void {
  const ctx = canvas.getContext('2d');
  if (!ctx) return;
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== width * scale) canvas.width = width * scale;
  if (canvas.height !== height * scale) canvas.height = height * scale;
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, width, height);
  ctx.font = '12px system-ui, sans-serif';
  ctx.textBaseline = 'middle';
  ctx.lineWidth = 1;
  const drawing = new Drawing(canvas, ctx, seen, width, scale);
  drawing.axis(zero, height);
  const first = Math.floor(seen.top);
  const last = Math.min(rows.length - 1, first + Math.ceil((height - axis) / rowHeight));
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, axis, width, height - axis);
  ctx.clip();
  for (let row = first; row <= last; row += 1) {
    if (row === chosen) {
      ctx.fillStyle = drawing.colour('shade');
      ctx.fillRect(0, drawing.y(row), width, rowHeight);
    }
    ctx.fillStyle = drawing.colour('ink');
    ctx.fillText(rows[row], 6, drawing.y(row) + rowHeight / 2, names - 12);
  }
  const room = Math.max(1, width - names);
  ctx.beginPath();
  ctx.rect(names, axis, room, height - axis);
  ctx.clip();
  const dense: number[] = []; // rows, one for each line of `pixels`
  let pixels: ImageData | undefined;
  for (let row = first, at = 0; row <= last; row += 1) {
    const begin = firstOf(bars, row, (each) => each.row, at);
    const end = firstOf(bars, row + 1, (each) => each.row, begin);
    at = end;
    // Bars of a row do not overlap but for a few: the one before may reach into the window.
    const began = (each: Bar) => each.began;
    const from = Math.max(begin, firstOf(bars, seen.from, began, begin, end) - 2);
    const to = firstOf(bars, seen.to, began, from, end);
    if (to <= from) continue;
    if (to - from <= mostSingle) {
      drawing.bars(bars, from, to);
    } else {
      pixels ??= new ImageData(room, last - first + 1);
      drawing.manyBars(bars, from, to, pixels, dense.length);
      dense.push(row);
    }
  }
  if (pixels) {
    const line = strip();
    line.width = room;
    line.height = dense.length;
    line.getContext('2d')!.putImageData(pixels, 0, 0);
    ctx.imageSmoothingEnabled = false;
    dense.forEach((row, i) =>
      ctx.drawImage(line, 0, i, room, 1, names, drawing.y(row) + margin, room, thick),
    );
  }
  drawing.arrows(arrowsIn(arrows, seen, chosen));
  ctx.restore();
}
