// Calls of tools that somebody has allowed for good.
import { askToRemove } from './actions';
import type { Rules as All } from './api_types';
import { useAsk } from './live';
import { Button, Card, Table, When } from './parts';

export function Rules() {
  const rules = useAsk<All>('/rules').data?.rules ?? [];
  if (rules.length === 0) return null;
  return (
    <Card title="Allowed for good" label="Standing rules">
      <Table
        label="Table of rules"
        head={['Tool', 'Arguments', 'Repository', 'By', 'Since', 'Actions']}
      >
        {rules.map(({ id, tool, arguments: given, repository, who, comment, since }) => (
          <tr key={id}>
            <td class="mono">{tool}</td>
            <td class="mono wrap">{JSON.stringify(given)}</td>
            <td class="mono">{repository || 'none'}</td>
            <td>
              {who} {comment && <span class="dim">{comment}</span>}
            </td>
            <td>
              <When at={since} />
            </td>
            <td>
              <Button
                class="danger"
                operator
                aria-label={`remove the rule ${id}`}
                onClick={() =>
                  askToRemove(
                    `the rule ${id} for ${tool}`,
                    `/rules/${id}`,
                    'This call of an agent asks again from then on.',
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
