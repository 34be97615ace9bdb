// Where time, attempts and failures go: types of tasks by steps, as a heatmap.
import { useState } from 'preact/hooks';
import { info } from './api';
import type { StepFigures, Types } from './api_types';
import { useAsk } from './live';
import { Button, Copy, Empty, Failure, Scroll } from './parts';
import { link, refine, route } from './route';
import { duration, number, quoted } from './text';

type Step = StepFigures['steps'][number];

const measures: [string, string, (step: Step) => number | undefined, (value: number) => string][] =
  [
    [
      'time',
      'the time within which 95 of 100 ended',
      (step) => step.p95_us,
      (value) => duration(value / 1000),
    ],
    [
      'attempts',
      'attempts for a step',
      (step) => (step.count ? step.attempts / step.count : undefined),
      (value) => value.toFixed(1),
    ],
    [
      'failures',
      'share that failed',
      (step) => (step.count ? step.failed / step.count : undefined),
      (value) => `${Math.round(value * 100)}%`,
    ],
    ['count', 'how many', (step) => step.count, (value) => number(value)],
  ];

// From 0 to 5 between the least and the most; by sizes (logarithms) or by steps of the same width.
export function heatOf(
  value: number | undefined,
  least: number,
  most: number,
  bySize: boolean,
): number {
  if (value === undefined || value <= 0) return 0;
  if (!bySize) return most > least ? Math.ceil(((value - least) / (most - least)) * 5) : 0;
  if (most <= least) return 1;
  return Math.max(1, Math.ceil((Math.log(value / least) / Math.log(most / least)) * 5));
}

function commandOf(filter: string): string {
  const socket = quoted(`${info.value?.data ?? '.'}/tiffany.sock`);
  return `curl --unix-socket ${socket} 'localhost/api/v1/steps?limit=500${filter}'`;
}

// Of the daemon's newest tasks; it reads their records for the answer.
const rest = 10_000;

export function StepsView() {
  const { type, by = 'time' } = route.value.query;
  const filter = type ? `&type=${encodeURIComponent(type)}` : '';
  const answer = useAsk<StepFigures>(`/steps?limit=500${filter}`, undefined, rest);
  const types = useAsk<Types>('/types', 'types').data?.types ?? [];
  const [at, setAt] = useState('');
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data) return null;
  const { steps, tasks } = answer.data;
  const [, words, of, write] = measures.find((each) => each[0] === by) ?? measures[0];
  const values = steps.map((step) => of(step) ?? 0).filter((value) => value > 0);
  const bySize = by !== 'attempts' && by !== 'failures';
  const least = bySize ? Math.min(...values) : by === 'attempts' ? 1 : 0;
  const most = Math.max(0, ...values);
  const rows = [...new Set(steps.map((step) => step.type))];
  const chosen = steps.find((step) => `${step.type} ${step.step}` === at);
  return (
    <section aria-label="Steps">
      <div class="bar">
        <h1>Steps</h1>
        <span class="dim">of the newest {number(tasks)} tasks</span>
        <span class="grow" />
        {measures.map(([name]) => (
          <Button key={name} aria-pressed={name === by} onClick={() => refine({ by: name })}>
            {name}
          </Button>
        ))}
        <label class="check">
          type{' '}
          <select
            value={type ?? ''}
            onChange={(event) => refine({ type: event.currentTarget.value })}
          >
            <option value="">all</option>
            {types.map((each) => (
              <option key={each.name}>{each.name}</option>
            ))}
          </select>
        </label>
        <Copy text={commandOf(filter)} />
      </div>
      {steps.length === 0 ? (
        <Empty title="No steps yet">
          <p>
            What tasks do with <code>flow.step("charge", ...)</code> is counted here: how long it
            takes, how often it is tried, how often it fails.
          </p>
        </Empty>
      ) : (
        <>
          <Scroll label="Heatmap">
            <table class="heat">
              <tbody>
                {rows.map((name) => (
                  <tr key={name}>
                    <th scope="row">
                      <a href={link('tasks', { type: name })}>{name}</a>
                    </th>
                    <td>
                      <div class="cells">
                        {steps
                          .filter((step) => step.type === name)
                          .slice(0, mostCells)
                          .map((step) => {
                            const value = of(step);
                            const key = `${name} ${step.step}`;
                            return (
                              <Button
                                key={key}
                                class={`cell heat${heatOf(value, least, most, bySize)}`}
                                aria-pressed={at === key}
                                onClick={() => setAt(at === key ? '' : key)}
                              >
                                <b>{step.step}</b>{' '}
                                <span>{value === undefined ? '–' : write(value)}</span>
                              </Button>
                            );
                          })}
                      </div>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
          <p class="dim">
            The stronger the colour, the greater is: {words}. A dash: none has ended, or the log has
            no beginning of the step, because the step did not wait for anything.
          </p>
          {chosen && <Chosen step={chosen} />}
        </>
      )}
    </section>
  );
}

const mostCells = 100;

function Chosen({ step }: { step: Step }) {
  const took = (us?: number) => (us === undefined ? '–' : duration(us / 1000));
  const figures: [string, string][] = [
    ['ended', number(step.count)],
    ['failed', number(step.failed)],
    ['attempts', number(step.attempts)],
    ['under way', number(step.open)],
    ['half within', took(step.p50_us)],
    ['95 of 100 within', took(step.p95_us)],
    ['longest', took(step.longest_us)],
  ];
  return (
    <section class="card" aria-label="Step">
      <h2>
        {step.step} of {step.type}
      </h2>
      <dl class="figures">
        {figures.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p>
        <a href={link('tasks', { type: step.type })}>Tasks of type {step.type}</a>,{' '}
        <a href={link('tasks', { type: step.type, status: 'failed' })}>those that failed</a>
      </p>
      <p class="dim">
        A step that does not wait has no beginning in the log, and no duration here.
      </p>
    </section>
  );
}
