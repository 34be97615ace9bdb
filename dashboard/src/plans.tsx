// The plans of the daemon: what each does, when it runs next, and a form to run it.
import { useEffect, useState } from 'preact/hooks';
import { post, query } from './api';
import type {
  KnownPlan,
  PlanParam,
  Plans as All,
  Schedules,
  Task,
  TaskPage,
} from './api_types';
import { refresh, useAsk } from './live';
import {
  Badge,
  Button,
  Card,
  Copy,
  Empty,
  Failure,
  OperatorsOnly,
  question,
  say,
  TaskLink,
  When,
} from './parts';
import { PlanPicture } from './plan_graph';
import { planType } from './plan_run';
import { go, link, route } from './route';
import { Field, type Schema } from './start';
import { quoted } from './text';

function schemaOf(param: PlanParam): Schema {
  const { choices = [], type } = param;
  return choices.length > 0 ? { enum: choices } : { type };
}

// Defaults are written as texts.
export function firstOf(param: PlanParam): unknown {
  const { type, choices = [], value } = param;
  if (typeof value !== 'string') return choices[0] ?? (type === 'boolean' ? false : '');
  if (choices.length > 0 || type === 'string') return value;
  return type === 'boolean' ? value === 'true' : Number(value);
}

function commandOf(plan: KnownPlan, values: Record<string, unknown>): string {
  const words = Object.entries(values).map(
    ([name, value]) => ` -p ${quoted(`${name}=${String(value)}`)}`,
  );
  return `tiffany run ${quoted(plan.name)}${words.join('')}`;
}

function RunForm({ plan }: { plan: KnownPlan }) {
  const params = plan.params ?? [];
  const [values, setValues] = useState<Record<string, unknown>>({});
  const [problem, setProblem] = useState('');
  // One key for one form: a second click starts no second run.
  const [once, setOnce] = useState('');
  useEffect(() => {
    setValues(Object.fromEntries(params.map((each) => [each.name, firstOf(each)])));
    setOnce(crypto.randomUUID?.() ?? String(Math.random()).slice(2) + Date.now());
  }, [plan.name]);
  const send = async (verb: 'run' | 'schedule') => {
    setProblem('');
    try {
      const path = `/plans/${encodeURIComponent(plan.name)}/${verb}`;
      if (verb === 'run') {
        const made = await post<Task>(path, { params: values, id: once });
        go(`task/${made.id}/plan`);
      } else {
        await post(path, { params: values });
        say(`${plan.name} runs as its schedule says.`);
        refresh();
      }
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const schedule = () => {
    question.value = {
      title: `Schedule ${plan.name}?`,
      words:
        `It will run at "${plan.cron}"${plan.zone ? ` in ${plan.zone}` : ''} ` +
        'with the values of the form.',
      confirm: `Schedule ${plan.name}`,
      act: () => send('schedule'),
    };
  };
  return (
    <form
      class="card"
      aria-label="Run"
      onSubmit={(event) => {
        event.preventDefault();
        void send('run');
      }}
    >
      <h2>Run {plan.name}</h2>
      {params.length === 0 && <p class="dim">This plan takes no parameters.</p>}
      {params.map((each) => (
        <div key={each.name}>
          <Field
            name={each.name}
            schema={schemaOf(each)}
            value={values[each.name] ?? ''}
            set={(to) => setValues((all) => ({ ...all, [each.name]: to }))}
          />
          {each.about && <p class="dim">{each.about}</p>}
        </div>
      ))}
      {problem && <Failure error={problem} />}
      <div class="bar">
        <Button type="submit" class="primary" operator disabled={!plan.good}>
          Run {plan.name}
        </Button>
        {plan.cron && (
          <Button operator onClick={schedule}>Schedule</Button>
        )}
        <Copy text={commandOf(plan, values)} />
      </div>
      <OperatorsOnly what="running a plan" />
    </form>
  );
}

function Runs({ plan }: { plan: KnownPlan }) {
  const attribute = `plan:${plan.name}`;
  const path = query({ type: planType, attribute, limit: 10, order: 'newest' });
  const page = useAsk<TaskPage>(`/tasks${path}`).data;
  const schedules = useAsk<Schedules>('/schedules').data?.schedules ?? [];
  const own = schedules.find((each) => each.name === plan.name);
  return (
    <Card title="Runs" label="Runs">
      {plan.cron && (
        <p>
          Schedule <code>{plan.cron}</code> {plan.zone}:{' '}
          {own ? (
            <>
              next run <When at={own.paused ? undefined : own.next} />
              {own.paused && ' (paused)'}{' '}
              {own.last && <TaskLink id={own.last}>last run</TaskLink>}{' '}
              <a href={link('schedules')}>schedules</a>
            </>
          ) : (
            <span class="dim">not scheduled yet</span>
          )}
        </p>
      )}
      {page?.tasks.length === 0 && <p class="dim">None yet.</p>}
      <ul class="plain">
        {page?.tasks.map((task) => (
          <li key={task.id}>
            <Badge status={task.status} />{' '}
            <a class="mono" href={link(`task/${task.id}/plan`)}>
              {task.id.slice(0, 8)}
            </a>{' '}
            <When at={task.began} /> <span class="why">{task.detail}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Detail({ name }: { name: string }) {
  const answer = useAsk<KnownPlan>(`/plans/${encodeURIComponent(name)}`, undefined, 5000);
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  const plan = answer.data;
  if (!plan) return null;
  return (
    <div>
      <Card title={plan.name} label="Plan">
        {plan.about && <p>{plan.about}</p>}
        {plan.mistakes.map((each) => (
          <p key={each.sentence} class="bad">
            line {each.line}, column {each.column}: {each.sentence}
          </p>
        ))}
        {plan.graph && <PlanPicture graph={plan.graph} />}
        <details>
          <summary>The file</summary>
          <pre class="json" tabIndex={0} role="region" aria-label="The file">
            {plan.text}
          </pre>
        </details>
      </Card>
      {plan.good && <RunForm key={plan.name} plan={plan} />}
      <Runs plan={plan} />
    </div>
  );
}

export function Plans() {
  const answer = useAsk<All>('/plans', undefined, 5000);
  const all = answer.data?.plans ?? [];
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data) return null;
  if (all.length === 0) {
    return (
      <Empty title="This daemon has no plans">
        <p>
          A plan is a YAML file with commands and approvals that depend on each other. Those in the
          directory of the setting <code>plans</code> are shown here. Others are run with:
        </p>
        <pre class="json">tiffany run plan.yaml</pre>
      </Empty>
    );
  }
  const chosen = route.value.parts[0] ?? all[0].name;
  return (
    <section aria-label="Plans">
      <div class="bar">
        <h1>Plans</h1>
        <span class="grow" />
        <Copy text="tiffany plan ls" />
      </div>
      <div class="inbox">
        <nav class="list" aria-label="Library">
          <ul class="list">
            {all.map((each) => (
              <li key={each.name}>
                <a
                  href={link(`plans/${encodeURIComponent(each.name)}`)}
                  aria-current={each.name === chosen ? 'page' : undefined}
                >
                  {each.name} {!each.good && <span class="bad">has mistakes</span>}{' '}
                  {each.cron && <span class="dim">{each.cron}</span>}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Detail key={chosen} name={chosen} />
      </div>
    </section>
  );
}
