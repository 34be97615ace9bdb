// Promises that wait for somebody: decided here with the keyboard (a, r, n) or a finger.
import { useEffect, useRef, useState } from 'preact/hooks';
import { parse } from './actions';
import { may, post } from './api';
import { agentType, briefOfAgent, type AgentView, type Asked as Answered } from './agent';
import type { PlanState, Promises, Task } from './api_types';
import { Diff, isDiff } from './diff';
import { storyOf, useRecords, type Asked, type Story } from './history';
import { changed, refresh, useAsk } from './live';
import {
  Button,
  Copy,
  Empty,
  Failure,
  Json,
  OperatorsOnly,
  say,
  TaskLink,
  useKeys,
  When,
} from './parts';
import { commandEnd, planType } from './plan_run';
import { refine, route } from './route';
import { Rules } from './rules';
import { age, clock, micros, quoted, shortId } from './text';

type Open = Promises['promises'][number];
const mostPromises = 10_000; // that the daemon tells
const mostListed = 100;

// What is to be decided: the question of a plan or of an agent, or the last thing that the task
// made and that is a diff.
interface Payload {
  text: string;
  from: string;
  unit?: string; // of a plan
  digest?: string;
  action?: string; // of an agent: what the digest is of
  tool?: string; // that an agent would run; not of a patch
}

function diffIn(story: Story): Payload | undefined {
  const done = [...story.asked].reverse().find((each) => isDiff(each.result));
  if (done) return { text: String(done.result), from: `Result of ${done.id}` };
  const inside = Array.isArray(story.args)
    ? story.args.flatMap((each) => (each && typeof each === 'object' ? Object.values(each) : each))
    : [];
  const given = inside.find(isDiff);
  return given === undefined ? undefined : { text: given, from: 'Argument of the task' };
}

function usePayload(promise: Open, story: Story): Payload | undefined {
  const ofPlan = promise.type === planType;
  const ofAgent = promise.type === agentType;
  const path = ofPlan ? `/tasks/${promise.task}/plan` : null;
  const plan = useAsk<PlanState>(path, promise.task).data;
  const asks = ofAgent ? `/tasks/${promise.task}/query?name=agent` : null;
  const question = useAsk<Answered<AgentView>>(asks, promise.task).data?.answer.question;
  if (ofAgent) {
    if (question?.promise !== promise.id) return undefined;
    const { diff, why, digest, action, tool } = question;
    const call = tool === 'commit' ? undefined : tool;
    return { text: diff, from: why, digest, action, tool: call };
  }
  if (!ofPlan) return diffIn(story);
  const unit = plan?.units.find((each) => each.promise === promise.id);
  if (!unit) return undefined;
  const { name, text = '', digest } = unit;
  return { text, from: `Question of the step ${name}`, unit: name, digest };
}

const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;

// How something ended, on one line; of a command of a plan its exit code.
function briefOf(asked: Asked): string {
  if (asked.failed) return asked.error ?? '';
  const said = briefOfAgent(asked);
  if (said !== undefined) return said;
  const command = commandEnd(asked);
  return command ? `${command.end} ${command.code ?? ''}` : (JSON.stringify(asked.result) ?? '');
}

function Digest({ digest }: { digest: string }) {
  return (
    <p class="dim">
      The answer counts for exactly this text: sha256{' '}
      <code class="digest" title={digest}>
        {digest.slice(0, 16)}…{digest.slice(-4)}
      </code>
    </p>
  );
}

// How far an approval of a call goes; a rejection is of this call.
function Scope(props: { tool: string; scope: string; choose: (scope: string) => void }) {
  const { tool, scope, choose } = props;
  const scopes = [
    ['once', 'this call, once'],
    ['task', `every call of ${tool} in this task`],
    ['rule', 'this call with these arguments, in this repository, of every agent: a rule'],
  ];
  return (
    <fieldset>
      <legend>Approve</legend>
      {scopes.map(([name, words]) => (
        <label key={name} class="check row">
          <input
            type="radio"
            name="scope"
            checked={scope === name}
            onChange={() => choose(name)}
          />{' '}
          {words}
        </label>
      ))}
    </fieldset>
  );
}

function Decide({ promise, next }: { promise: Open; next: (decided?: boolean) => void }) {
  const task = useAsk<Task>(`/tasks/${promise.task}`, promise.task).data;
  const records = useRecords(task, changed.value.number);
  const story = storyOf(records.records);
  const asked = story.asked.find((each) => each.uuid === promise.id);
  const payload = usePayload(promise, story);
  const bound = promise.type === planType || promise.type === agentType;
  const shape = asked?.shape ?? '';
  const yesOrNo = shape === 'boolean' || bound;
  // Nothing is decided before it was shown.
  const shown = !!asked && (!bound || payload !== undefined);
  const [comment, setComment] = useState('');
  const [value, setValue] = useState('');
  const [scope, setScope] = useState('once');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);

  const send = (approve: boolean): Promise<unknown> => {
    const reason = comment || undefined;
    if (payload?.digest) {
      const { unit, digest, tool } = payload;
      const far = tool && approve ? scope : undefined;
      const body = { unit, approved: approve, digest, note: comment, scope: far };
      return post(`/tasks/${promise.task}/decide`, body);
    }
    const path = `/promises/${promise.id}`;
    if (yesOrNo) return post(path, { value: approve, reason });
    if (approve) return post(path, { value: parse(value || 'null'), reason });
    return post(path, { error: comment || 'rejected', reason });
  };
  const decide = async (approve: boolean) => {
    if (!may('operator') || busy || !shown) return;
    setProblem('');
    setBusy(true);
    try {
      await send(approve);
      say(
        `${promise.type ?? 'task'} ${shortId(promise.task)}: ${approve ? 'approved' : 'rejected'}.`,
      );
      const { view, query } = route.value; // somebody may look at something else by now
      if (view === 'approvals' && query.promise === promise.id) next(true);
      refresh();
    } catch (error) {
      setProblem((error as Error).message);
      setBusy(false);
      refresh();
    }
  };
  useKeys((key) => {
    if (key === 'a') void decide(true);
    else if (key === 'r') void decide(false);
  });
  const before = story.asked.filter((each) => each.ended !== undefined && !isDiff(each.result));
  return (
    <section class="card decide" aria-label="What is asked">
      <h2>
        {promise.name} of {promise.type} <TaskLink id={promise.task} />
      </h2>
      <p>
        {asked && (
          <>
            asked at <code class="place">{asked.at}</code>{' '}
            <When at={new Date(asked.began / 1000).toISOString()} />
          </>
        )}
      </p>
      {payload && (
        <>
          <h3>{payload.from}</h3>
          {isDiff(payload.text) ? (
            <Diff text={payload.text} label="Changes" file={`${promise.task}.diff`} />
          ) : (
            payload.text && (
              <pre class="json asked" tabIndex={0} role="region" aria-label="Question">
                {payload.text}
              </pre>
            )
          )}
          {payload.action && <Json value={parse(payload.action)} label="What is approved" />}
          {payload.digest && <Digest digest={payload.digest} />}
        </>
      )}
      {!bound && !isEmpty(story.args) && (
        <>
          <h3>The task was started with</h3>
          <Json value={story.args ?? null} label="Arguments of the task" />
        </>
      )}
      {before.length > 0 && (
        <>
          <h3>What it did before</h3>
          <ul class="plain">
            {before.slice(-8).map((each) => (
              <li key={each.id} class="brief" title={briefOf(each)}>
                <span class="mono">{each.id}</span> {briefOf(each)}
              </li>
            ))}
          </ul>
        </>
      )}
      {!yesOrNo && asked && (
        <label>
          Value to go on with ({shape || 'JSON'})
          <textarea
            rows={3}
            value={value}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        </label>
      )}
      {payload?.tool && <Scope tool={payload.tool} scope={scope} choose={setScope} />}
      <label>
        Comment (is written to the audit)
        <input value={comment} onInput={(event) => setComment(event.currentTarget.value)} />
      </label>
      {problem && <Failure error={problem} />}
      <OperatorsOnly what="deciding" />
      <div class="bar big">
        <Button
          class="primary"
          operator
          disabled={busy || !shown}
          onClick={() => void decide(true)}
        >
          Approve <kbd>a</kbd>
        </Button>
        <Button
          class="danger"
          operator
          disabled={busy || !shown}
          onClick={() => void decide(false)}
        >
          Reject <kbd>r</kbd>
        </Button>
        <Button onClick={() => next()}>
          Next <kbd>n</kbd>
        </Button>
        <Copy
          text={
            yesOrNo
              ? `tiffany approve ${promise.task}${scope === 'once' ? '' : ` --scope ${scope}`}`
              : `tiffany complete ${promise.id} ${quoted(value || 'null')}`
          }
        />
      </div>
    </section>
  );
}

// What was chosen stays chosen: nothing else takes its place when somebody else decides it, so that
// a key that is pressed then decides nothing that was not seen.
export function Approvals() {
  const wanted = route.value.query.promise;
  const [limit, setLimit] = useState(200);
  const answer = useAsk<Promises>(`/promises?limit=${limit}`);
  const all = answer.data?.promises ?? [];
  const at = all.findIndex((each) => each.id === wanted);
  const current = all[at];
  const done = useRef<string>(undefined); // decided here; the list may have it for a while
  const step = (by: number, decided = false) => {
    if (decided) done.current = wanted;
    const others = all.filter((each) => each.id !== wanted);
    const to = all[(at + by + all.length) % all.length];
    refine({ promise: others.length > 0 ? to?.id : undefined });
  };
  useEffect(() => {
    if (!answer.data || current) return;
    const first = all.find((each) => each.id !== done.current);
    if (all.length === 0 || !wanted) refine({ promise: first?.id });
    else if (all.length === limit) setLimit(mostPromises);
  }, [answer.data, wanted]);
  useKeys((key) => {
    if (key === 'n' || key === 'j') step(1);
    else if (key === 'p' || key === 'k') step(-1);
  });
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data) return null;
  if (all.length === 0) {
    return (
      <>
        <Empty title="Nothing waits for a decision">
          <p>
            A task asks for one with <code>co_await flow.promise&lt;bool&gt;("approval")</code>, a
            plan with a step <code>approve</code>. It waits, over restarts too, until somebody
            answers here, with <code>tiffany approve</code>, or with curl.
          </p>
        </Empty>
        <Rules />
      </>
    );
  }
  const first = Math.max(0, Math.min(at - mostListed / 2, all.length - mostListed));
  return (
    <>
      <div class="inbox">
        <section aria-label="Waiting">
          <h1>
            {all.length}
            {all.length === limit && '+'} {all.length === 1 ? 'decision' : 'decisions'} waiting
          </h1>
          <ul class="list">
            {all.slice(first, first + mostListed).map((each) => (
              <li key={each.id}>
                <Button
                  aria-current={each.id === wanted ? 'true' : undefined}
                  data-promise={each.id}
                  onClick={() => refine({ promise: each.id })}
                >
                  <b>{each.name}</b> {each.type} {each.key}{' '}
                  <span class="mono dim">{shortId(each.task)}</span>
                  {each.since && (
                    <span class="dim"> {age(clock.value - micros(each.since) / 1000)}</span>
                  )}
                </Button>
              </li>
            ))}
          </ul>
        </section>
        {current ? (
          <Decide key={current.id} promise={current} next={(decided) => step(1, decided)} />
        ) : (
          wanted && <Decided next={() => refine({ promise: all[0].id })} />
        )}
      </div>
      <Rules />
    </>
  );
}

function Decided({ next }: { next: () => void }) {
  return (
    <section class="card decide" aria-label="What is asked">
      <h2>This one waits no longer</h2>
      <p>Somebody decided it, or its task ended. Its task has the answer in its history.</p>
      <div class="bar big">
        <Button onClick={next}>
          Next <kbd>n</kbd>
        </Button>
      </div>
    </section>
  );
}
