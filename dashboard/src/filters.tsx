// What is shown of all tasks: by status, by words, and filters that were kept.
import { useEffect, useState } from 'preact/hooks';
import { counts } from './live';
import { Button, Copy, signs, statuses } from './parts';
import { decoded, go, link, refine, route } from './route';
import { number, quoted } from './text';

function commandOf(filter: Record<string, string>): string {
  const flags = ['status', 'type', 'key', 'attribute']
    .filter((name) => filter[name])
    .map((name) => ` --${name} ${quoted(filter[name])}`);
  return 'tiffany ps --all' + flags.join('');
}

export function StatusCounts({ chosen }: { chosen: string }) {
  const total = statuses.reduce((sum, each) => sum + (counts.value[each] ?? 0), 0);
  const choose = (status: string) => refine({ status });
  return (
    <div class="counts" role="group" aria-label="Tasks by status">
      <Button
        class={chosen ? 'count' : 'count chosen'}
        aria-pressed={!chosen}
        onClick={() => choose('')}
      >
        <b>{number(total)}</b> all
      </Button>
      {statuses.map((each) => (
        <Button
          key={each}
          aria-pressed={chosen === each}
          class={`count ${each}${chosen === each ? ' chosen' : ''}`}
          onClick={() => choose(chosen === each ? '' : each)}
        >
          <span aria-hidden="true">{signs[each]}</span>{' '}
          <b>{number(counts.value[each] ?? 0)}</b>{' '}
          {each}
        </Button>
      ))}
    </div>
  );
}

// "type:order key:a7 customer:Ada", or the beginning of an id.
export function filterOf(text: string): Record<string, string | undefined> {
  const filter: Record<string, string | undefined> = {
    type: undefined,
    key: undefined,
    attribute: undefined,
    parent: undefined,
  };
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const colon = word.indexOf(':');
    if (colon < 0) filter.type = word;
    else if (['type', 'key', 'parent', 'status'].includes(word.slice(0, colon))) {
      filter[word.slice(0, colon)] = word.slice(colon + 1);
    } else filter.attribute = word;
  }
  return filter;
}

export function FilterBar({ types }: { types: string[] }) {
  const { query: at } = route.value;
  const given = [
    at.type && `type:${at.type}`,
    at.key && `key:${at.key}`,
    at.parent && `parent:${at.parent}`,
    at.attribute,
  ]
    .filter(Boolean)
    .join(' ');
  const [text, setText] = useState(given);
  useEffect(() => setText(given), [given]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (/^[0-9a-f]{4,}[0-9a-f-]*$/.test(text.trim())) return go(`task/${text.trim()}`);
    refine(filterOf(text));
  };
  return (
    <form class="filter" onSubmit={submit} role="search">
      <input
        id="filter"
        value={text}
        list="types"
        spellcheck={false}
        aria-label="Filter"
        placeholder="Filter: type:order key:a7 customer:Ada, or an id   ( / )"
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <datalist id="types">
        {types.map((each) => (
          <option key={each} value={`type:${each}`} />
        ))}
      </datalist>
      <button type="submit">Filter</button>
      {(given || at.status) && <a href={link('tasks')}>Clear</a>}
      <SavedFilters now={location.hash} any={!!given || !!at.status} />
      <Copy text={commandOf(at)} />
    </form>
  );
}

// Kept in this browser.
const savedKey = 'tiffany.filters';
function readSaved(): Record<string, string> {
  try {
    return JSON.parse(localStorage.getItem(savedKey) ?? '{}') as Record<string, string>;
  } catch {
    return {};
  }
}

function SavedFilters({ now, any }: { now: string; any: boolean }) {
  const [saved, setSaved] = useState(readSaved);
  const name = decoded(now.split('?')[1] ?? '').replaceAll('&', ' ');
  const keep = (all: Record<string, string>) => {
    localStorage.setItem(savedKey, JSON.stringify(all));
    setSaved(all);
  };
  const { [name]: known, ...others } = saved;
  return (
    <>
      {any && (
        <Button class="quiet" onClick={() => keep(known ? others : { ...saved, [name]: now })}>
          {known ? 'Forget filter' : 'Save filter'}
        </Button>
      )}
      {Object.entries(saved).map(([each, hash]) => (
        <a key={each} class="saved" href={hash}>
          {each}
        </a>
      ))}
    </>
  );
}
