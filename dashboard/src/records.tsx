// The log of a task, a page at a time, as it is on the disk.
import { useState } from 'preact/hooks';
import { query } from './api';
import type { Records as Page, Task } from './api_types';
import { typeOf, type TaskRecord } from './history';
import { useAsk } from './live';
import { Button, Copy, Failure, Json, Scroll, When } from './parts';
import { refine, route } from './route';

const pageSize = 100;
// Not of interest in the short form: they are in every record, or have columns of their own.
const known = new Set([
  'v',
  'ts',
  'type',
  'task_id',
  'seq',
  'tid',
  'vt',
  'loc',
  'cause',
  'crc',
  'op',
  'step',
  'id',
  'of',
  'hash',
  'rules',
]);

function nameOf(record: TaskRecord): string {
  return [record.op, record.step ?? record.of ?? record.id ?? record.name]
    .filter(Boolean)
    .join(' ');
}

function rest(record: TaskRecord): string {
  const members = Object.entries(record).filter(([name]) => !known.has(name));
  return members.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(' ');
}

export function Records({ task }: { task: Task }) {
  const at = Number(route.value.query.at ?? 0);
  const last = task.records ?? 0;
  // Without a place: the newest.
  const after = at > 0 ? at - 1 : Math.max(0, last - pageSize);
  const page = useAsk<Page>(
    `/tasks/${task.id}/records` + query({ after, limit: pageSize }),
    task.id,
  );
  const [text, setText] = useState('');
  const [failures, setFailures] = useState(false);
  const [open, setOpen] = useState(0);
  const all = (page.data?.records ?? []) as unknown as TaskRecord[];
  const shown = all.filter(
    (record) =>
      (!failures || record.error !== undefined) &&
      (!text || JSON.stringify(record).toLowerCase().includes(text.toLowerCase())),
  );
  const goTo = (seq: number) => refine({ at: String(Math.max(1, seq)) });
  const end = all.at(-1)?.seq ?? 0;
  return (
    <section class="card">
      <h2 class="sr">History</h2>
      <div class="bar">
        <span>
          records {after + 1} to {end}
          {last > 0 && ` of ${last}`}
        </span>
        <input
          aria-label="Text in the records of this page"
          placeholder="Text on this page"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={failures}
            onChange={(event) => setFailures(event.currentTarget.checked)}
          />{' '}
          failures on this page
        </label>
        <label class="check">
          go to record{' '}
          <input
            class="short"
            type="number"
            min={1}
            max={last || undefined}
            onChange={(event) => goTo(Number(event.currentTarget.value))}
          />
        </label>
        <span class="grow" />
        <Button disabled={after === 0} onClick={() => goTo(1)}>First</Button>
        <Button disabled={after === 0} onClick={() => goTo(after + 1 - pageSize)}>Earlier</Button>
        <Button disabled={page.data?.next === undefined} onClick={() => goTo(end + 1)}>
          Later
        </Button>
        <Button disabled={!at} onClick={() => refine({ at: undefined })}>Newest</Button>
        <Copy text={`tiffany logs ${task.id}`} />
      </div>
      {page.error && !page.data && <Failure error={page.error} />}
      <Scroll label="Records">
        <table class="records">
          <thead>
            <tr>
              <th>Nr</th>
              <th>Time</th>
              <th>Type</th>
              <th>What</th>
              <th>At</th>
              <th>Content</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((record) => (
              <>
                <tr key={record.seq} class={record.error !== undefined ? 'bad' : ''}>
                  <td class="num">
                    <Button
                      class="linklike"
                      aria-expanded={open === record.seq}
                      aria-label={`Raw record ${record.seq}`}
                      onClick={() => setOpen(open === record.seq ? 0 : record.seq)}
                    >
                      {record.seq}
                    </Button>
                  </td>
                  <td>
                    <When at={record.ts} millis />
                  </td>
                  <td>{typeOf(record)}</td>
                  <td class="mono">{nameOf(record)}</td>
                  <td>
                    <code class="place">{record.loc ?? ''}</code>
                  </td>
                  <td class="detail">{rest(record)}</td>
                </tr>
                {open === record.seq && (
                  <tr class="opened">
                    <td colSpan={6}>
                      <Json value={record} label="Raw record" />
                    </td>
                  </tr>
                )}
              </>
            ))}
          </tbody>
        </table>
      </Scroll>
      {page.data && shown.length === 0 && <p class="dim">No record of this page fits.</p>}
    </section>
  );
}
