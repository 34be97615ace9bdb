// One task: what it waits for, what it did, and what can be done to it.
import { Agent, agentType } from './agent';
import { Fragment, type ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ask, askFrom, askSignal, can, ended, type Verb } from './actions';
import { get } from './api';
import { AwaitTree } from './await_tree';
import type { Task, Types, Wait } from './api_types';
import { Children } from './children';
import { Graph } from './graph';
import { storyOf, useRecords, type Asked, type Story } from './history';
import { changed, useAsk } from './live';
import {
  Badge,
  Button,
  Card,
  Copy,
  Empty,
  Failure,
  Json,
  save,
  say,
  Table,
  TaskLink,
  When,
} from './parts';
import { PlanRun, planType } from './plan_run';
import { Records } from './records';
import { Replay } from './replay';
import { link, route } from './route';
import { Timeline } from './timeline';
import { age, clock, duration, json } from './text';
import { traceOf } from './trace';

const verbs: Verb[] = ['pause', 'resume', 'cancel', 'kill'];
const words: Record<string, string> = {
  step: 'step',
  timer: 'sleep',
  promise: 'promise',
  child: 'child task',
  signal: 'signal',
};

function Actions({ task, story }: { task: Task; story: Story }) {
  const trace = () => {
    const made = traceOf(task, story, clock.value * 1000);
    save(`${task.id}.trace.json`, JSON.stringify(made), 'application/json');
    say('Open the file in Perfetto.');
  };
  return (
    <div class="bar">
      {verbs.map((verb) => (
        <Button
          key={verb}
          disabled={!can(verb, task)}
          onClick={() => ask(verb, [task])}
          class={verb === 'cancel' || verb === 'kill' ? 'danger' : ''}
        >
          {verb}
        </Button>
      ))}
      <Button operator disabled={ended(task)} onClick={() => askSignal(task)}>signal</Button>
      <Copy text={`tiffany show ${task.id}`} />
      <Button class="quiet" onClick={() => void download(task)}>Download log</Button>
      <Button class="quiet" onClick={trace}>Download trace</Button>
    </div>
  );
}

// The records as the log has them, a line each.
async function download(task: Task): Promise<void> {
  const lines: string[] = [];
  try {
    for (let after: number | undefined = 0; after !== undefined;) {
      const page: { records: unknown[]; next?: number } = await get(
        `/tasks/${task.id}/records?after=${after}&limit=1000`,
      );
      lines.push(...page.records.map((each) => JSON.stringify(each)));
      after = page.next;
    }
  } catch (error) {
    return say((error as Error).message);
  }
  save(`${task.id}.jsonl`, lines.join('\n') + '\n', 'application/jsonl');
}

function WaitLine({ wait, story }: { wait: Wait; story: Story }) {
  const asked = story.asked.find((each) => each.id === wait.name);
  const since = asked ? age(clock.value - asked.began / 1000) : '';
  return (
    <li>
      <b>
        {words[wait.kind] ?? wait.kind} {wait.name}
      </b>
      {wait.at && (
        <>
          {' '}
          at <code class="place">{wait.at}</code>
        </>
      )}
      {since && <span class="dim"> for {since}</span>}
      {wait.due && (
        <>
          {' '}
          until <When at={wait.due} />
        </>
      )}
      {!!wait.attempts && wait.attempts > 1 && <> attempt {wait.attempts}</>}
      {wait.kind === 'promise' && (
        <>
          {' '}
          <a href={link('approvals', { promise: wait.id })}>decide</a>
        </>
      )}
      {wait.kind === 'child' && wait.id && (
        <>
          {' '}
          <TaskLink id={wait.id} />
        </>
      )}
    </li>
  );
}

function Waits({ task, story }: { task: Task; story: Story }) {
  if (ended(task)) return null;
  const waits = task.waits ?? [];
  return (
    <section class="card">
      <h2>
        {task.status === 'running' ? 'Waits for' : `Is ${task.status}; behind that it waits for`}
      </h2>
      {waits.length === 0 && <p class="dim">Nothing: its code is running, or it has not begun.</p>}
      <ul class="plain">
        {waits.map((each) => (
          <WaitLine key={each.name} wait={each} story={story} />
        ))}
      </ul>
    </section>
  );
}

function Summary({ task, story }: { task: Task; story: Story }) {
  const { key, parent, detail } = task;
  const took = story.ended !== undefined && duration((story.ended - story.began) / 1000);
  const facts: [string, ComponentChildren][] = [
    ['Began', <When at={task.began} />],
    ['Took', took],
    ['Version', task.version],
    ['Key', key || false],
    ['Parent', !!parent && <TaskLink id={parent} />],
    ...Object.entries(task.attributes ?? {}).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]),
    ['Arguments', story.args !== undefined && <Json value={story.args} label="Arguments" />],
    ['Result', task.status === 'completed' && <Json value={task.result} label="Result" />],
    ['Why', !!detail && <span class="why">{detail}</span>],
  ];
  return (
    <Card title="Summary">
      <dl>
        {facts.map(
          ([name, value], i) =>
            value !== false && (
              <Fragment key={i}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </Fragment>
            ),
        )}
      </dl>
    </Card>
  );
}

function Queries({ task }: { task: Task }) {
  const types = useAsk<Types>('/types', 'types').data?.types ?? [];
  const calls = types.find((each) => each.name === task.type)?.calls ?? [];
  const names = calls.filter((each) => each.kind === 'query').map((each) => String(each.name));
  const signals = calls.filter((each) => each.kind === 'signal').map((each) => String(each.name));
  const [answers, setAnswers] = useState<Record<string, string>>({});
  if (ended(task) || (names.length === 0 && signals.length === 0)) return null;
  const askFor = async (name: string) => {
    let text: string;
    try {
      const answer = await get<{ answer: unknown }>(
        `/tasks/${task.id}/query?name=${encodeURIComponent(name)}`,
      );
      text = json(answer.answer);
    } catch (error) {
      text = (error as Error).message;
    }
    setAnswers((all) => ({ ...all, [name]: text }));
  };
  return (
    <Card title="Ask or tell its code">
      {names.map((name) => (
        <p key={name}>
          <Button onClick={() => void askFor(name)}>
            {name}?
          </Button>{' '}
          <output>{answers[name] ?? ''}</output>
        </p>
      ))}
      {signals.map((name) => (
        <p key={name}>
          <Button operator onClick={() => askSignal(task, name)}>
            send {name}
          </Button>
        </p>
      ))}
    </Card>
  );
}

function resultOf(asked: Asked): string {
  if (asked.failed) return asked.error ?? '';
  // A sleep has none.
  return asked.ended === undefined || asked.kind === 'timer' ? '' : json(asked.result);
}

function StepRow({
  asked,
  task,
  chosen,
  choose,
}: {
  asked: Asked;
  task: Task;
  chosen: boolean;
  choose: () => void;
}) {
  const open = asked.ended === undefined;
  const state = asked.failed ? 'failed' : open ? (ended(task) ? 'left' : 'under way') : 'done';
  return (
    <>
      <tr class={chosen ? 'at' : ''}>
        <td>
          <Button class="linklike mono" aria-expanded={chosen} onClick={choose}>
            {asked.id}
          </Button>
        </td>
        <td>{words[asked.kind]}</td>
        <td class={asked.failed ? 'bad' : ''}>{state}</td>
        <td class="num">{asked.attempts.length || ''}</td>
        <td class="num">{open ? '' : duration((asked.ended! - asked.began) / 1000)}</td>
        <td>
          <code class="place">{asked.at}</code>
        </td>
        <td class="detail">{resultOf(asked)}</td>
      </tr>
      {chosen && (
        <tr class="opened">
          <td colSpan={7}>
            <div class="bar">
              <When at={new Date(asked.began / 1000).toISOString()} millis />
              <a href={link(`task/${task.id}/history`, { at: String(asked.seq) })}>
                record {asked.seq}
              </a>
              {asked.kind === 'child' && asked.uuid && <TaskLink id={asked.uuid} />}
              <Button operator onClick={() => askFrom('retry', task, asked.id)}>
                retry from here
              </Button>
              <Button operator onClick={() => askFrom('fork', task, asked.id)}>
                fork from here
              </Button>
            </div>
            {asked.attempts.length > 1 && (
              <ol>
                {asked.attempts.map((each) => (
                  <li key={each.number}>
                    attempt {each.number}:{' '}
                    {each.ended ? duration((each.ended - each.began) / 1000) : 'under way'}
                  </li>
                ))}
              </ol>
            )}
            {asked.failed ? (
              <p class="why">{asked.error}</p>
            ) : (
              asked.ended !== undefined && (
                <Json value={asked.result} label={`Result of ${asked.id}`} />
              )
            )}
          </td>
        </tr>
      )}
    </>
  );
}

const mostRows = 150;

function Overview({
  task,
  story,
  loaded,
}: {
  task: Task;
  story: Story;
  loaded: { complete: boolean; from: number; loadAll: () => void };
}) {
  const [chosen, setChosen] = useState('');
  const [all, setAll] = useState(0);
  // A task with thousands of steps shows the newest ones.
  const first = Math.max(0, story.asked.length - mostRows - all);
  const shown = story.asked.slice(first, first + mostRows);
  return (
    <>
      <div class="columns">
        <div>
          <Waits task={task} story={story} />
          <Summary task={task} story={story} />
        </div>
        <div>
          <Queries task={task} />
          <Children task={task} />
        </div>
      </div>
      <Card title="Steps and waits">
        {!loaded.complete && (
          <p class="note">
            Records 1 to {loaded.from} are not shown here.{' '}
            <Button onClick={loaded.loadAll}>Load all</Button>
          </p>
        )}
        {story.asked.length === 0 ? (
          <p class="dim">None yet.</p>
        ) : (
          <>
            <Timeline
              story={story}
              now={clock.value * 1000}
              chosen={chosen}
              choose={(asked) => setChosen(asked.id)}
            />
            {first > 0 && (
              <p>
                <Button onClick={() => setAll(all + mostRows)}>
                  Earlier steps ({first})
                </Button>
              </p>
            )}
            <Table
              label="Table of steps"
              head={['Name', 'Kind', 'State', '#Attempts', '#Took', 'At', 'Result']}
            >
              {shown.map((each) => (
                <StepRow
                  key={each.id}
                  asked={each}
                  task={task}
                  chosen={chosen === each.id}
                  choose={() => setChosen(chosen === each.id ? '' : each.id)}
                />
              ))}
            </Table>
            {all > 0 && first + mostRows < story.asked.length && (
              <p>
                <Button onClick={() => setAll(Math.max(0, all - mostRows))}>Later steps</Button>
              </p>
            )}
          </>
        )}
      </Card>
    </>
  );
}

const tabs = [
  ['', 'Overview'],
  ['history', 'History'],
  ['await', 'Await tree'],
  ['graph', 'Graph'],
  ['replay', 'Replay'],
];
const more: Record<string, [string, string]> = {
  [planType]: ['plan', 'Plan'],
  [agentType]: ['agent', 'Agent'],
};
const tabsOf = (type: string) => (more[type] ? [...tabs, more[type]] : tabs);

export function TaskView() {
  const [given, tab = ''] = route.value.parts;
  // With a part of an id it is not known whose changes matter.
  const whole = given?.length === 36 ? given : undefined;
  const answer = useAsk<Task>(given ? `/tasks/${given}` : null, whole);
  const task = answer.data;
  const loaded = useRecords(task, changed.value.number);
  if (answer.error && !task) {
    return (
      <Empty
        title={answer.error.status === 404 ? 'There is no such task' : 'The task cannot be shown'}
      >
        <Failure error={answer.error} />
        <p>
          <a href={link('tasks')}>All tasks</a>
        </p>
      </Empty>
    );
  }
  if (!task) return null;
  const story = storyOf(loaded.records);
  return (
    <section aria-label="Task">
      <header class="title">
        <h1>
          {task.type} {task.type === planType && String(task.attributes?.plan ?? '')}{' '}
          <span class="mono dim">{task.id}</span>
        </h1>
        <Badge status={task.status} />
      </header>
      <Actions task={task} story={story} />
      <nav class="tabs" aria-label="Parts of the task">
        {tabsOf(task.type).map(([name, label]) => (
          <a
            key={name}
            href={link(`task/${task.id}${name ? '/' + name : ''}`)}
            aria-current={tab === name ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      {tab === '' && <Overview task={task} story={story} loaded={loaded} />}
      {tab === 'history' && <Records task={task} />}
      {tab === 'await' && <AwaitTree of={task.id} />}
      {tab === 'graph' && <Graph task={task} />}
      {tab === 'replay' && <Replay task={task} />}
      {tab === 'plan' && <PlanRun task={task} story={story} />}
      {tab === 'agent' && <Agent task={task} story={story} />}
    </section>
  );
}
