// Runs the code of a task along its log again, in the daemon and without any effect, and shows what
// was recorded beside what the code did.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ended } from './actions';
import type { Inspection, Task } from './api_types';
import { useAsk } from './live';
import { Button, Card, Copy, Failure, Table, useKeys } from './parts';

// "2026-... result of charge#1 "payment-a1"" as its parts.
function parts(event: string): { time: string; what: string } {
  const space = event.indexOf(' ');
  return { time: event.slice(11, space - 1), what: event.slice(space + 1) };
}

export function Replay({ task }: { task: Task }) {
  const verb = ended(task) ? 'replay' : 'inspect';
  const answer = useAsk<Inspection>(`/tasks/${task.id}/${verb}`, task.id);
  const events = answer.data?.events ?? [];
  const [wanted, setWanted] = useState(0);
  const last = events.length;
  const at = Math.min(wanted, last);
  const end = useRef(Infinity); // not known yet: keys may come before the answer
  useLayoutEffect(() => {
    end.current = answer.data ? last : Infinity;
  });
  const go = (to: number) => setWanted(Math.max(0, to));
  // From where the page is by then: keys can come faster than it is drawn.
  const by = (steps: number) =>
    setWanted((now) => Math.max(0, Math.min(end.current, Math.min(end.current, now) + steps)));
  useKeys((key) => {
    if (key === 'ArrowRight') by(1);
    else if (key === 'ArrowLeft') by(-1);
  });
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data) return <p class="dim">The code runs along the log…</p>;
  const { agrees, difference, commands, next = [], same_result: same } = answer.data;
  const shown = events.slice(Math.max(0, at - 60), Math.max(at + 1, 60));
  const first = Math.max(0, at - 60);
  return (
    <Card title="Recorded, and run again">
      <p class={agrees ? 'good' : 'bad'} role="status" data-agrees={String(agrees)}>
        {agrees
          ? `✓ The code of today does what the log says: ${commands} commands${
              ended(task) ? (same ? ', and the same result.' : ', with another result.') : '.'
            }`
          : `≠ The code of today differs from the log: ${difference}`}
      </p>
      <div class="bar">
        <Button disabled={at === 0} onClick={() => go(0)} aria-label="To the beginning">|◀</Button>
        <Button disabled={at === 0} onClick={() => by(-1)}>◀ step</Button>
        <span data-cursor={at}>
          {at} of {last}
        </span>
        <Button disabled={at === last} onClick={() => by(1)}>step ▶</Button>
        <Button disabled={at === last} onClick={() => go(last)} aria-label="To the end">▶|</Button>
        <span class="dim">arrow keys step</span>
        <span class="grow" />
        <Copy text={`tiffany ${verb} ${task.id}`} />
      </div>
      <Table label="Events" head={['Nr', 'Time', 'Recorded', 'Run again']}>
        {shown.map((event, i) => {
          const { time, what } = parts(event);
          const number = first + i + 1;
          return (
            <tr key={number} class={number === at ? 'at' : number > at ? 'later' : ''}>
              <td class="num">{number}</td>
              <td>{time}</td>
              <td class="detail">{what}</td>
              <td>{number <= at ? '✓ taken by the code' : ''}</td>
            </tr>
          );
        })}
        {!agrees && at === last && (
          <tr class="bad">
            <td>{last + 1}</td>
            <td />
            <td colSpan={2}>first divergence: {difference}</td>
          </tr>
        )}
      </Table>
      {at === last && next.length > 0 && (
        <>
          <h3>Next</h3>
          <ul>
            {next.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}
