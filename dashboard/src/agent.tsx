// An agent: what it was told, what was said, which tools it ran, and what it has used.
import { Diff, isDiff } from './diff';
import { useAsk } from './live';
import { Empty, Failure, Json } from './parts';

export const agentType = 'tiffany.agent';

export interface AgentQuestion {
  promise: string;
  digest: string;
  action: string; // canonical JSON
  why: string;
  diff: string;
  expires_us: number;
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
interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  text: string;
  calls: { id: string; name: string; arguments: string }[];
  call_id: string;
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
        {role}
        {tainted && (
          <span class="badge tainted" title="Text that others wrote, or that follows from such text">
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

export function Agent({ task, type }: { task: string; type: string }) {
  const path = `/tasks/${task}/query?name=`;
  const view = useAsk<AgentView>(type === agentType ? `${path}agent` : null, task);
  const said = useAsk<Message[]>(type === agentType ? `${path}transcript` : null, task);
  if (view.error && !view.data) return <Failure error={view.error} />;
  if (!view.data) return <Empty title="The agent is asked" />;
  const { state, about, question } = view.data;
  return (
    <section class="agent">
      <p>
        <span class="badge">{state}</span> {about}
      </p>
      {question && isDiff(question.diff) && (
        <Diff text={question.diff} label="The patch" file={`${task}.diff`} />
      )}
      <Budget view={view.data} />
      <h3>What was said</h3>
      <ol class="plain transcript">
        {(said.data ?? []).map((each, i) => (
          <Said key={i} message={each} />
        ))}
      </ol>
    </section>
  );
}
