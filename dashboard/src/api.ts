// Requests to the API of the daemon, with the token of this tab.
import { signal } from '@preact/signals';
import type { Info, Problem } from './api_types';

export const base = '/api/v1';

// What the daemon said when it refused; status 0: the daemon did not answer.
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    sentence: string,
  ) {
    super(sentence);
  }
}

const kept = 'tiffany.token';

// A link "/#token=..." hands over a token; it does not stay in the address.
function tokenOfLink(): string | null {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, '', location.pathname + '#/tasks');
  return found[1];
}

function firstToken(): string {
  const given = tokenOfLink();
  if (given) sessionStorage.setItem(kept, given);
  return given ?? sessionStorage.getItem(kept) ?? '';
}

export const token = signal(firstToken());
// Why the last token was refused; empty: it was not.
export const refused = signal('');
export const info = signal<Info | null>(null);

export function signIn(given: string): void {
  sessionStorage.setItem(kept, given);
  refused.value = '';
  token.value = given;
}

export function signOut(why = ''): void {
  sessionStorage.removeItem(kept);
  refused.value = why;
  token.value = '';
  info.value = null;
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
  return token.value ? { authorization: `Bearer ${token.value}`, ...more } : more;
}

async function errorOf(answer: Response): Promise<ApiError> {
  let problem: Partial<Problem> = {};
  try {
    problem = (await answer.json()) as Partial<Problem>;
  } catch {
    // not of the daemon; said below
  }
  const sentence = problem.detail ?? `The daemon answered ${answer.status}.`;
  return new ApiError(answer.status, problem.code ?? '', sentence);
}

async function sent(path: string, init: RequestInit): Promise<Response> {
  const used = token.value;
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, cache: 'no-store' });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, 'unreachable', 'The daemon does not answer. Is it running?');
  }
  if (answer.ok) return answer;
  const error = await errorOf(answer);
  // Not when another token was given meanwhile.
  if (error.status === 401 && used && used === token.value) signOut(error.message);
  throw error;
}

export async function get<T>(path: string, abort?: AbortSignal): Promise<T> {
  const answer = await sent(base + path, { headers: headers(), signal: abort });
  return (await answer.json()) as T;
}

export async function getText(path: string, abort?: AbortSignal): Promise<string> {
  return (await sent(path, { headers: headers(), signal: abort })).text();
}

export async function getBlob(path: string): Promise<Blob> {
  return (await sent(path, { headers: headers() })).blob();
}

export async function change<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await sent(base + path, {
    method,
    headers: headers(body === undefined ? {} : { 'content-type': 'application/json' }),
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return (await answer.json()) as T;
}

export const post = <T>(path: string, body: unknown = {}): Promise<T> =>
  change('POST', path, body);

const ranks = ['viewer', 'operator', 'admin'];
// Whether the token may do what needs that role. The daemon decides; this only greys out.
export function may(role: 'viewer' | 'operator' | 'admin'): boolean {
  return ranks.indexOf(info.value?.role ?? '') >= ranks.indexOf(role);
}

export function query(all: Record<string, string | number | undefined>): string {
  const parts = Object.entries(all)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return parts.length ? '?' + parts.join('&') : '';
}
