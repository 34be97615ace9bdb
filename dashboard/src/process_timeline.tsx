// The process, slice by slice: records the loop of the daemon for some seconds, and draws which
// task ran, was ready or waited when, and which task made which other one ready.
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { base, getText } from './api';
import { Gantt } from './gantt';
import { mostArrows } from './gantt_draw';
import { Button, Card, Copy, Empty, OperatorsOnly, save, say, Swatch, Table } from './parts';
import { buckets, quantile, readTrace, type ProcessBar, type ProcessTrace } from './process_trace';
import { duration, number } from './text';

// Stays while other views are looked at.
const recording = signal<{ text: string; trace: ProcessTrace } | null>(null);
const busy = signal(0); // seconds that are recorded now

async function record(seconds: number): Promise<void> {
  busy.value = seconds;
  try {
    const text = await getText(`${base}/trace?seconds=${seconds}`);
    recording.value = { text, trace: readTrace(JSON.parse(text).traceEvents) };
  } catch (error) {
    say((error as Error).message);
  }
  busy.value = 0;
}

const legend: [string, string][] = [
  ['run', 'runs'],
  ['ready', 'is ready'],
  ['sleep', 'sleeps'],
  ['io', 'waits for io'],
  ['event', 'for an event'],
  ['join', 'for a task'],
  ['external', 'for another thread'],
  ['other', 'for something else'],
  ['failed', 'failed'],
];
const words = Object.fromEntries(legend);

const mostListed = 500;

const micros = (us: number) => duration(us / 1000);

function Histogram({ title, values }: { title: string; values: number[] }) {
  const found = buckets(values);
  const most = Math.max(...found.map((each) => each.count));
  return (
    <Card title={title} label={title}>
      <p class="dim">
        {number(values.length)} of them; half within {micros(quantile(values, 0.5))}, 99 of 100
        within {micros(quantile(values, 0.99))}, all within {micros(values.at(-1) ?? 0)}
      </p>
      <table class="histogram">
        <tbody>
          {found.map(({ below, count }) => (
            <tr key={below}>
              <th class="num">to {micros(below)}</th>
              <td class="num">{number(count)}</td>
              <td class="share">
                <meter min={0} max={most} value={count} aria-label={`up to ${micros(below)}`} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

// What happened in one row at one time, with what was before and after.
function Chosen({ trace, row, time }: { trace: ProcessTrace; row: number; time: number }) {
  const own = trace.bars.filter((bar) => bar.row === row);
  // The last that had begun by then: waits are over what is short within them.
  const at = own.filter((bar) => bar.began <= time).length - 1;
  const first = Math.max(0, at - 3);
  const woken = (bar: ProcessBar) =>
    bar.kind === 'run'
      ? trace.wakes.find((wake) => wake.to === row && Math.abs(wake.right - bar.began) < 0.01)
      : undefined;
  return (
    <Card title={trace.rows[row]} label="Slices">
      <Table label="Its bars" head={['#At', 'What', 'Name', '#Took', 'Made ready by']}>
        {own.slice(first, first + 8).map((bar, i) => {
          const wake = woken(bar);
          return (
            <tr key={i} class={first + i === at ? 'at' : ''}>
              <td class="num">{micros(bar.began - trace.began)}</td>
              <td>
                <Swatch colour={bar.kind} /> {words[bar.kind]}
              </td>
              <td class="mono">{bar.name}</td>
              <td class="num">{micros(bar.ended - bar.began)}</td>
              <td>
                {wake && `${trace.rows[wake.from]}, ${micros(wake.right - wake.left)} before`}
              </td>
            </tr>
          );
        })}
      </Table>
    </Card>
  );
}

function Recorded({ trace }: { trace: ProcessTrace }) {
  const [chosen, setChosen] = useState({ row: -1, time: 0 });
  if (trace.bars.length === 0) {
    return <p class="dim">No task ran while it was recorded. Record for longer.</p>;
  }
  return (
    <>
      <Gantt
        rows={trace.rows}
        bars={trace.bars}
        arrows={trace.wakes}
        zero={trace.began}
        end={trace.ended}
        chosen={chosen.row}
        choose={(row, time) => setChosen({ row, time })}
        legend={legend}
        label={`Timeline of ${trace.rows.length} tasks of the process; the tables below sum it up`}
      />
      <p class="dim">
        Times since the recording began. An arrow goes from the task that made another one ready to
        where that one ran; more than {mostArrows} at a time are not drawn: zoom in, or click a row
        to see its own. A row is a slot: when a task has ended, the next one may have its row.
      </p>
      <label class="check">
        Row{' '}
        <select
          value={chosen.row}
          onChange={(event) =>
            setChosen({ row: Number(event.currentTarget.value), time: trace.began })
          }
        >
          <option value={-1}>none</option>
          {trace.rows.slice(0, mostListed).map((name, i) => (
            <option key={i} value={i}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {chosen.row >= 0 && trace.rows[chosen.row] !== undefined && (
        <Chosen trace={trace} row={chosen.row} time={chosen.time} />
      )}
      <div class="columns">
        <Histogram title="How long tasks ran at a time" values={trace.slices} />
        <Histogram title="From ready to running" values={trace.delays} />
      </div>
    </>
  );
}

export function ProcessTimeline() {
  const [seconds, setSeconds] = useState(2);
  const shown = recording.value;
  return (
    <section aria-label="Timeline">
      <div class="bar">
        <h1>Timeline</h1>
        <Button
          class="primary"
          operator
          disabled={busy.value > 0}
          onClick={() => void record(seconds)}
        >
          {busy.value > 0 ? `Recording ${busy.value} s…` : `Record ${seconds} s`}
        </Button>
        <label class="check">
          seconds{' '}
          <select
            value={seconds}
            onChange={(event) => setSeconds(Number(event.currentTarget.value))}
          >
            {[1, 2, 5, 10, 30].map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <span class="grow" />
        {shown && (
          <Button
            class="quiet"
            onClick={() => {
              save('daemon.trace.json', shown.text, 'application/json');
              say('Open daemon.trace.json in Perfetto.');
            }}
          >
            Download for Perfetto
          </Button>
        )}
        <Copy
          text={
            `curl -H "authorization: Bearer $TOKEN" ` +
            `'${location.origin}${base}/trace?seconds=${seconds}' -o daemon.trace.json`
          }
        />
      </div>
      <OperatorsOnly what="recording" />
      {shown ? (
        <Recorded trace={shown.trace} />
      ) : (
        <Empty title="Nothing is recorded yet">
          <p>
            A recording shows each slice of each task of the daemon: who ran, who was ready and had
            to wait for its turn, what the others waited for, and who woke whom. Nothing is recorded
            otherwise, so that it costs nothing.
          </p>
        </Empty>
      )}
    </section>
  );
}
