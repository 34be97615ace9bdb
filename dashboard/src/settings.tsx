// For admins: tokens and roles, who changed what, levels of the log, settings.
import { useState } from 'preact/hooks';
import { askToRemove } from './actions';
import { info, may, post, signOut } from './api';
import type { Token, Tokens as All } from './api_types';
import { useAsk } from './live';
import { Button, Card, Copy, Empty, Failure, question, Table, When } from './parts';

const made: { token: string; name: string } = { token: '', name: '' };

function TokenTable() {
  const answer = useAsk<All>('/tokens');
  const [shown, setShown] = useState(made);
  const create = () => {
    question.value = {
      title: 'A new token',
      words:
        'The token is shown once. Roles: viewer (looks), operator (changes tasks), admin (all).',
      ask: [
        { name: 'name', label: 'Name', required: true },
        {
          name: 'role',
          label: 'Role: viewer, operator or admin',
          value: 'viewer',
          required: true,
        },
      ],
      confirm: 'Make the token',
      act: async ({ name, role }) => {
        const token = await post<Token>('/tokens', { name, role });
        setShown({ token: token.token, name });
      },
    };
  };
  return (
    <Card title="Tokens" more={<Button onClick={create}>New token</Button>}>
      {answer.error && !answer.data && <Failure error={answer.error} />}
      {shown.token && (
        <p class="note" role="status">
          The token of {shown.name}, shown this once: <code>{shown.token}</code>{' '}
          <Copy text={shown.token}>Copy</Copy>
        </p>
      )}
      <Table label="Tokens" head={['Name', 'Role', 'Made', 'Actions']}>
        {(answer.data?.tokens ?? []).map((each) => (
          <tr key={each.name}>
            <td>{each.name}</td>
            <td>{each.role}</td>
            <td>
              <When at={each.created} />
            </td>
            <td>
              <Button
                class="danger"
                aria-label={`remove the token ${each.name}`}
                onClick={() =>
                  askToRemove(
                    `the token ${each.name}`,
                    `/tokens/${encodeURIComponent(each.name)}`,
                    'Whoever uses it is refused from then on.',
                  )
                }
              >
                remove
              </Button>
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

interface Line {
  time: number;
  actor: string;
  role: string;
  action: string;
  target: string;
  reason: string;
  status: number;
}

function AuditTable() {
  const answer = useAsk<{ lines: Line[] }>('/audit?limit=50');
  const lines = [...(answer.data?.lines ?? [])].reverse();
  return (
    <Card title="Who changed what" more={<Copy text="tiffany audit" />}>
      {answer.error && !answer.data && <Failure error={answer.error} />}
      {answer.data && lines.length === 0 && <p class="dim">Nobody changed anything yet.</p>}
      <Table label="Audit" head={['When', 'Who', 'What', 'Of what', 'Why', 'Answer']}>
        {lines.map((line, i) => (
          <tr key={i} class={line.status >= 400 ? 'bad' : ''}>
            <td>
              <When at={new Date(line.time / 1000).toISOString()} />
            </td>
            <td>
              {line.actor} <span class="dim">{line.role}</span>
            </td>
            <td>{line.action.replace('/api/v1', '')}</td>
            <td class="mono">{line.target}</td>
            <td>{line.reason}</td>
            <td class="num">{line.status}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

interface Setting {
  name: string;
  value: string;
  source: string;
  flag: string;
  meaning: string;
}

function SettingTable() {
  const answer = useAsk<{ settings: Setting[] }>('/settings');
  const levels = () => {
    question.value = {
      title: 'Levels of the log of the program',
      ask: [{ name: 'levels', label: 'Such as info,serve=debug', value: 'info', required: true }],
      confirm: 'Set levels',
      act: async (given) => {
        await post('/levels', { levels: given.levels });
        return `Levels are ${given.levels} until the daemon starts again.`;
      },
    };
  };
  return (
    <Card
      title="Settings"
      more={<Button onClick={levels}>Levels of the log</Button>}
    >
      {answer.error && !answer.data && <Failure error={answer.error} />}
      <Table label="Settings" head={['Name', 'Value', 'From', 'Meaning']}>
        {(answer.data?.settings ?? []).map((each) => (
          <tr key={each.name}>
            <td class="mono">{each.name}</td>
            <td class="mono">{each.value}</td>
            <td>{each.source}</td>
            <td>{each.meaning}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

export function SettingsView() {
  const you = info.value;
  return (
    <section aria-label="Settings">
      <div class="bar">
        <h1>Settings</h1>
        <span>
          You are <b>{you?.you}</b>, {you?.role}. {you?.name} {you?.version}, process {you?.pid},
          data in <code>{you?.data}</code>
        </span>
        <span class="grow" />
        <Button onClick={() => signOut()}>Forget the token</Button>
      </div>
      {may('admin') ? (
        <>
          <TokenTable />
          <AuditTable />
          <SettingTable />
        </>
      ) : (
        <Empty title="Tokens, audit and settings are for admins">
          <p>
            Your token is {you?.role === 'operator' ? "an operator's" : "a viewer's"}. An admin
            makes others: <code>tiffany tokens create --role admin NAME</code>
          </p>
        </Empty>
      )}
    </section>
  );
}
