// Values as people read them.
import { signal } from '@preact/signals';

// The time that ages are counted to; once a second.
export const clock = signal(Date.now());
setInterval(() => (clock.value = Date.now()), 1000);

export function duration(ms: number): string {
  const sign = ms < 0 ? '-' : '';
  const abs = Math.abs(ms);
  if (abs < 1) return `${sign}${Math.round(abs * 1000)}µs`;
  if (abs < 1000) return `${sign}${abs < 10 ? abs.toFixed(1) : Math.round(abs)}ms`;
  const seconds = abs / 1000;
  if (seconds < 60) return `${sign}${seconds < 10 ? seconds.toFixed(1) : Math.floor(seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${sign}${minutes}m ${Math.floor(seconds % 60)}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${sign}${hours}h ${minutes % 60}m`;
  return `${sign}${Math.floor(hours / 24)}d ${hours % 24}h`;
}

export function age(ms: number): string {
  const text = duration(Math.max(0, Math.floor(ms / 1000) * 1000));
  return text === '0µs' ? '0s' : text.replace('.0s', 's');
}

// In powers of a thousand, as disks are sold.
export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  const power = Math.min(4, Math.floor(Math.log10(count) / 3));
  return `${(count / 1000 ** power).toFixed(1)} ${' KMGT'[power]}B`;
}

const two = (n: number) => String(n).padStart(2, '0');
export function day(time: Date): string {
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}
export function timeOfDay(time: Date, millis = false): string {
  const text = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  return millis ? `${text}.${String(time.getMilliseconds()).padStart(3, '0')}` : text;
}

// Microseconds since 1970 of a time with six digits behind the second.
export function micros(iso: string): number {
  const whole = Date.parse(iso.slice(0, 19) + 'Z') * 1000;
  return whole + Number((iso.slice(20, -1) || '0').padEnd(6, '0').slice(0, 6));
}

export const shortId = (id: string): string => id.slice(0, 8);
export const number = (n: number): string => n.toLocaleString('en-US').replaceAll(',', ' ');

export function json(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? 'null');
}

// A word of a shell.
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
