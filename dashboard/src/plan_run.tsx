// A run of a plan: its graph as it stands now, its steps, and what each command wrote.
import { useEffect, useState } from 'preact/hooks';
import { ended } from './actions';
import { base, getText } from './api';
import type { PlanGraph, PlanState, PlanUnit, Task } from './api_types';
import { Artifacts } from './artifacts';
import type { Asked, Story } from './history';
import { changed, useAsk } from './live';
import { Button, Card, Copy, Failure, Table } from './parts';
import { marks, looks, PlanPicture } from './plan_graph';
import { link } from './route';
import { age, clock, duration, quoted } from './text';

export const planType = 'tiffany.plan';

// How the command of a step ended; nothing when the step is none of a command.
export function commandEnd(asked: Asked): { end: string; code?: number } | undefined {
  const result = (asked.result as { result?: { end?: unknown; code?: number } } | null)?.result;
  return typeof result?.end === 'string' ? { end: result.end, code: result.code } : undefined;
}

// Of a run that failed or was cancelled no task is left that could be asked: its log is read.
export function unitsOf(story: Story, graph: PlanGraph): PlanUnit[] {
  const units = new Map<string, PlanUnit>();
  for (const asked of story.asked) {
    const name = asked.id.slice(0, asked.id.lastIndexOf('#'));
    const step = name.replace(/\[.*$/, '');
    const node = graph.nodes.find((each) => each.name === step);
    if (!node || (asked.kind !== 'step' && asked.kind !== 'promise')) continue;
    const { end, code } = commandEnd(asked) ?? {};
    const open = asked.ended === undefined;
    const good = asked.kind === 'promise' ? !open : end === 'exited' && code === 0;
    const why = end === 'exited' ? `exit code ${code}` : (end ?? asked.error ?? '');
    units.set(name, {
      name,
      step,
      phase: node.phase,
      state: open ? 'skipped' : good ? 'done' : 'failed',
      attempts: (units.get(name)?.attempts ?? 0) + 1,
      text: open ? 'left' : asked.kind === 'promise' ? 'answered' : why,
      begun_us: asked.began,
      ended_us: asked.ended ?? 0,
    });
  }
  for (const node of graph.nodes) {
    if ([...units.values()].some((unit) => unit.step === node.name)) continue;
    const { name, phase } = node;
    units.set(name, { name, step: name, phase, state: 'skipped', text: 'did not run' });
  }
  return [...units.values()];
}

function Output({ task, unit }: { task: Task; unit: PlanUnit }) {
  const [which, setWhich] = useState('out');
  const [attempt, setAttempt] = useState(0);
  const attempts = Math.max(1, unit.attempts ?? 1);
  const shown = attempt || attempts;
  const [text, setText] = useState<string | null>(null);
  const round = unit.ended_us ? 0 : changed.value.number;
  useEffect(() => {
    const abort = new AbortController();
    const path =
      `${base}/tasks/${task.id}/output?unit=${encodeURIComponent(unit.name)}` +
      `&which=${which}&attempt=${shown}`;
    getText(path, abort.signal)
      .then(setText)
      .catch((error: Error) => {
        if (!abort.signal.aborted) setText(error.message);
      });
    return () => abort.abort();
  }, [task.id, unit.name, which, shown, round]);
  return (
    <>
      <div class="bar">
        {[
          ['out', 'output'],
          ['err', 'errors'],
        ].map(([name, label]) => (
          <Button key={name} aria-pressed={which === name} onClick={() => setWhich(name)}>
            {label}
          </Button>
        ))}
        {attempts > 1 && (
          <label class="check">
            attempt{' '}
            <input
              class="short"
              type="number"
              min={1}
              max={attempts}
              value={shown}
              onInput={(event) => setAttempt(Number(event.currentTarget.value))}
            />
          </label>
        )}
        <Copy
          text={
            `tiffany output ${task.id} ${quoted(unit.name)}` +
            (which === 'err' ? ' --errors' : '') +
            (shown > 1 ? ` --attempt ${shown}` : '')
          }
        />
      </div>
      <pre class="json" tabIndex={0} role="region" aria-label={`Output of ${unit.name}`}>
        {text === null ? '…' : text === '' ? '(nothing)' : text}
      </pre>
    </>
  );
}

function UnitRow({
  unit,
  chosen,
  choose,
}: {
  unit: PlanUnit;
  chosen: boolean;
  choose: () => void;
}) {
  const begun = (unit.begun_us ?? 0) / 1000;
  const end = (unit.ended_us ?? 0) / 1000;
  return (
    <tr class={chosen ? 'at' : ''} data-unit={unit.name}>
      <td>
        <Button class="linklike mono" aria-expanded={chosen} onClick={choose}>
          {unit.name}
        </Button>
      </td>
      <td>
        <span class={`badge ${looks[unit.state] ?? ''}`}>
          <span aria-hidden="true">{marks[unit.state] ?? ''}</span> {unit.state}
        </span>
      </td>
      <td class="num">{unit.attempts || ''}</td>
      <td class="num">
        {begun > 0 && (end > 0 ? duration(end - begun) : `for ${age(clock.value - begun)}`)}
      </td>
      <td class="detail">
        {unit.text}{' '}
        {unit.promise && unit.state === 'awaiting approval' && (
          <a href={link('approvals', { promise: unit.promise })}>decide</a>
        )}
      </td>
    </tr>
  );
}

export function PlanRun({ task, story }: { task: Task; story: Story }) {
  const answer = useAsk<PlanState>(`/tasks/${task.id}/plan`, task.id);
  const [chosen, setChosen] = useState('');
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data) return null;
  const { graph } = answer.data;
  const asked = answer.data.units;
  const units = asked.length === 0 && ended(task) ? unitsOf(story, graph) : asked;
  const unit =
    units.find((each) => each.name === chosen) ?? units.find((each) => each.step === chosen);
  const kind = graph.nodes.find((node) => node.name === unit?.step)?.kind;
  return (
    <Card title={answer.data.name} label="Plan">
      <PlanPicture graph={graph} units={units} chosen={unit?.step} choose={setChosen} />
      <Table label="Table of units" head={['Step', 'State', '#Attempts', '#Took', 'How']}>
        {units.slice(0, mostUnits).map((each) => (
          <UnitRow
            key={each.name}
            unit={each}
            chosen={each === unit}
            choose={() => setChosen(each === unit ? '' : each.name)}
          />
        ))}
      </Table>
      {units.length > mostUnits && (
        <p class="dim">
          {units.length - mostUnits} others: <code>tiffany plan status {task.id}</code> has all.
        </p>
      )}
      {unit ? (
        <>
          <h3>{unit.name}</h3>
          {(unit.attempts ?? 0) > 0 && kind !== 'approval' ? (
            <Output key={unit.name} task={task} unit={unit} />
          ) : (
            <p class="dim">{unit.text || 'It has not run.'}</p>
          )}
        </>
      ) : (
        <p class="dim">Choose a step to see what it wrote.</p>
      )}
      <Artifacts task={task} unit={unit?.name} />
    </Card>
  );
}

const mostUnits = 150;
