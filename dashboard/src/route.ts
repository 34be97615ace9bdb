// Where the tab is: "#/tasks?status=failed". Every view and filter is a link.
import { signal } from '@preact/signals';

export interface Route {
  view: string;
  parts: string[]; // behind the view
  query: Record<string, string>;
}

// What is no encoded text is the text itself: an address that somebody has typed.
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parsed(): Route {
  const text = location.hash.replace(/^#\/?/, '');
  const [path, search = ''] = text.split('?');
  const [view = '', ...parts] = path.split('/').map(decoded);
  return { view: view || 'tasks', parts, query: Object.fromEntries(new URLSearchParams(search)) };
}

let seen = location.hash; // that the route is of
export const route = signal<Route>(parsed());
function look(): void {
  seen = location.hash;
  route.value = parsed();
}
addEventListener('hashchange', look);

export function link(path: string, query: Record<string, string | undefined> = {}): string {
  const known = Object.entries(query).filter(([, value]) => value) as [string, string][];
  const search = new URLSearchParams(known).toString();
  return '#/' + path + (search ? '?' + search : '');
}

export function go(path: string, query: Record<string, string | undefined> = {}): void {
  location.hash = link(path, query);
}

// Changes the filter of the view, and does not add a step to the history of the browser.
// The address may have changed already when the page has not been told yet: then it stays.
export function refine(changes: Record<string, string | undefined>): void {
  const { view, parts, query } = route.value;
  if (location.hash !== seen) return;
  const to = link([view, ...parts.map(encodeURIComponent)].join('/'), { ...query, ...changes });
  history.replaceState(null, '', to);
  look();
}
