// Promises that wait for somebody: decided here with the keyboard (a, r, n) or a finger.
import { useEffect, useState } from 'preact/hooks';
import { parse } from './actions';
import { may, post } from './api';
import type { Promises, Task } from './api_types';
import { storyOf, useRecords } from './history';
import { changed, refresh, useAsk } from './live';
import { Copy, Empty, Failure, isTyping, Json, say, TaskLink, When } from './parts';
import { refine, route } from './route';
import { quoted, shortId } from './text';

type Open = Promises['promises'][number];

function Decide({ promise, next }: { promise: Open; next: () => void }) {
  const task = useAsk<Task>(`/tasks/${promise.task}`, promise.task).data;
  const records = useRecords(task, changed.value.number);
  const story = storyOf(records.records);
  const asked = story.asked.find((each) => each.uuid === promise.id);
  const shape = asked?.shape ?? '';
  const yesOrNo = shape === 'boolean';
  const [comment, setComment] = useState('');
  const [value, setValue] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setComment('');
    setValue('');
    setProblem('');
    setBusy(false);
  }, [promise.id]);

  const decide = async (approve: boolean) => {
    if (!may('operator') || busy || !asked) return;
    setProblem('');
    setBusy(true);
    try {
      const reason = comment || undefined;
      if (yesOrNo) await post(`/promises/${promise.id}`, { value: approve, reason });
      else if (approve)
        await post(`/promises/${promise.id}`, { value: parse(value || 'null'), reason });
      else await post(`/promises/${promise.id}`, { error: comment || 'rejected', reason });
      say(
        `${promise.type ?? 'task'} ${shortId(promise.task)}: ${approve ? 'approved' : 'rejected'}.`,
      );
      next();
      refresh();
    } catch (error) {
      setProblem((error as Error).message);
      setBusy(false);
      refresh();
    }
  };
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      if (event.key === 'a') void decide(true);
      else if (event.key === 'r') void decide(false);
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
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
      <h3>The task was started with</h3>
      <Json value={story.args ?? null} label="Arguments of the task" />
      {story.asked.some((each) => each.ended !== undefined) && (
        <>
          <h3>What it did before</h3>
          <ul class="plain">
            {story.asked
              .filter((each) => each.ended !== undefined)
              .slice(-8)
              .map((each) => (
                <li key={each.id}>
                  <span class="mono">{each.id}</span>{' '}
                  {each.failed ? each.error : JSON.stringify(each.result)}
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
      <label>
        Comment (is written to the audit)
        <input value={comment} onInput={(event) => setComment(event.currentTarget.value)} />
      </label>
      {problem && (
        <div class="failure" role="alert">
          {problem}
        </div>
      )}
      {!may('operator') && (
        <p class="note">Your token is a viewer's: deciding needs an operator's.</p>
      )}
      <div class="bar big">
        <button
          type="button"
          class="primary"
          disabled={!may('operator') || busy || !asked}
          onClick={() => void decide(true)}
        >
          Approve <kbd>a</kbd>
        </button>
        <button
          type="button"
          class="danger"
          disabled={!may('operator') || busy || !asked}
          onClick={() => void decide(false)}
        >
          Reject <kbd>r</kbd>
        </button>
        <button type="button" onClick={next}>
          Next <kbd>n</kbd>
        </button>
        <Copy
          text={`tiffany complete ${promise.id} ${yesOrNo ? 'true' : quoted(value || 'null')}`}
        />
      </div>
    </section>
  );
}

export function Approvals() {
  const answer = useAsk<Promises>('/promises?limit=200');
  const all = answer.data?.promises ?? [];
  const wanted = route.value.query.promise;
  const at = Math.max(
    0,
    all.findIndex((each) => each.id === wanted),
  );
  const current = all[at];
  const step = (by: number) => {
    if (all.length > 0) refine({ promise: all[(at + by + all.length) % all.length].id });
  };
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      if (event.key === 'n' || event.key === 'j') step(1);
      else if (event.key === 'p' || event.key === 'k') step(-1);
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data) return null;
  if (!current) {
    return (
      <Empty title="Nothing waits for a decision">
        <p>
          A task asks for one with <code>co_await flow.promise&lt;bool&gt;("approval")</code>. It
          waits, over restarts too, until somebody answers here, with <code>tiffany complete</code>
          , or with curl.
        </p>
      </Empty>
    );
  }
  return (
    <div class="inbox">
      <section aria-label="Waiting">
        <h1>
          {all.length} {all.length === 1 ? 'decision' : 'decisions'} waiting
        </h1>
        <ul class="list">
          {all.map((each, i) => (
            <li key={each.id}>
              <button
                type="button"
                aria-current={i === at ? 'true' : undefined}
                data-promise={each.id}
                onClick={() => refine({ promise: each.id })}
              >
                <b>{each.name}</b> {each.type} <span class="mono dim">{shortId(each.task)}</span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <Decide key={current.id} promise={current} next={() => step(1)} />
    </div>
  );
}
