// An agent: what it was told, what was said, which tools it ran, and what it has used.
import type { Task } from './api_types';
import { Children } from './children';
import { Diff, isDiff } from './diff';
import type { Asked as Step, Story } from './history';
import { useAsk } from './live';
import { Json } from './parts';
import { link } from './route';

export const agentType = 'tiffany.agent';

export interface AgentQuestion {
  promise: string;
  tool: string; // of a patch "commit"
  digest: string;
  action: string; // canonical JSON
  why: string;
  diff: string;
  expires_us: number;
}
// What GET /tasks/{task}/query answers.
export interface Asked<T> {
  answer: T;
}
export type Amounts = Record<string, number>;
export interface AgentView {
  state: string;
  about: string;
  turns: number;
  spent: Amounts;
  limits: Record<string, number | null>;
  canvas: { base: string; tree: string };
  question: AgentQuestion | null;
}
interface Call {
  id: string;
  name: string;
  arguments: string;
}
interface Message {
  role: 'user' | 'assistant' | 'tool';
  text: string;
  calls: Call[];
  tainted: boolean;
}

const names: Record<string, string> = {
  tokens: 'tokens',
  micro_dollars: 'micro-dollars',
  seconds: 'seconds',
  turns: 'turns',
  tool_runs: 'runs of tools',
  bytes: 'bytes of tools',
};

function Budget({ view }: { view: AgentView }) {
  return (
    <table class="plain budget">
      <caption>Budget</caption>
      <tbody>
        {Object.keys(names).map((name) => {
          const used = view.spent[name] ?? 0;
          const limit = view.limits[name];
          return (
            <tr key={name}>
              <th scope="row">{names[name]}</th>
              <td class="number">{used.toLocaleString('en')}</td>
              <td>{limit != null && <meter min={0} max={limit} value={used} />}</td>
              <td>{limit == null ? 'no limit' : `of ${limit.toLocaleString('en')}`}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function Said({ message }: { message: Message }) {
  const { role, text, calls, tainted } = message;
  return (
    <li class={`said ${role}`}>
      <div class="who">
        {role}{' '}
        {tainted && (
          <span
            class="badge tainted"
            title="Text that others wrote, or that follows from such text"
          >
            tainted
          </span>
        )}
      </div>
      {text && <pre class="json">{text}</pre>}
      {calls.map((call) => (
        <div key={call.id} class="call">
          <span class="mono">{call.name}</span>
          <Json value={asJson(call.arguments)} label={`Arguments of ${call.name}`} />
        </div>
      ))}
    </li>
  );
}

// What was said, from the records: of agents that have ended, too.
function transcriptOf(story: Story): Message[] {
  const all: Message[] = [];
  const add = (role: Message['role'], text: string, tainted: boolean, calls: Call[] = []) =>
    all.push({ role, text, tainted, calls });
  for (const { record, result } of story.asked) {
    const said = (result ?? {}) as Record<string, unknown>;
    if (record === 'InstructionStart') add('user', String(said.instruction ?? ''), false);
    if (record === 'LLMPlan') {
      add('assistant', String(said.plan ?? ''), said.tainted === true, said.calls as Call[]);
    }
    if (record !== 'ToolResult') continue;
    const failed = said.error ? `[${String(said.error)}]\n` : '';
    add('tool', failed + String(said.output ?? ''), true);
  }
  return all;
}

// A step of an agent on one line; undefined for other steps.
export function briefOfAgent({ record, result }: Step): string | undefined {
  const said = (result ?? {}) as Record<string, unknown>;
  if (record === 'InstructionStart') return String(said.instruction ?? '');
  if (record === 'ToolResult') return String(said.error ?? said.output ?? '');
  if (record === 'PatchPreview') return `digest ${String(said.digest ?? '')}`;
  if (record !== 'LLMPlan') return undefined;
  const calls = (said.calls as Call[] | undefined) ?? [];
  return [said.plan, ...calls.map((each) => each.name)].filter(Boolean).join('; ');
}

export function Agent({ task, story }: { task: Task; story: Story }) {
  const path = task.status === 'running' ? `/tasks/${task.id}/query?name=agent` : null;
  const view = useAsk<Asked<AgentView>>(path, task.id).data?.answer;
  return (
    <section class="agent">
      {view && (
        <p>
          <span class="badge">{view.state}</span> {view.about}
        </p>
      )}
      {view?.question && isDiff(view.question.diff) && (
        <Diff text={view.question.diff} label="The patch" file={`${task.id}.diff`} />
      )}
      {view && <Budget view={view} />}
      <p>
        <a href={link(`task/${task.id}`)}>Each step on a timeline</a>,{' '}
        <a href={link(`task/${task.id}/graph`)}>the agents it started as a graph</a>
      </p>
      <Children task={task} />
      <h3>What was said</h3>
      <ol class="plain transcript">
        {transcriptOf(story).map((each, i) => (
          <Said key={i} message={each} />
        ))}
      </ol>
    </section>
  );
}
