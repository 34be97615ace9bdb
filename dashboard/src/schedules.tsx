// Schedules: when they run next, and what can be done to them.
import { askToRemove, parse } from './actions';
import { post } from './api';
import type { Schedules as All, Types } from './api_types';
import { refresh, useAsk } from './live';
import { Button, Copy, Empty, Failure, question, say, Table, TaskLink, When } from './parts';
import { quoted } from './text';

async function tell(name: string, verb: string): Promise<void> {
  try {
    await post(`/schedules/${encodeURIComponent(name)}/${verb}`);
    say(`${name}: ${verb}.`);
  } catch (error) {
    say((error as Error).message);
  }
  refresh();
}

function create(type: string): void {
  question.value = {
    title: 'A new schedule',
    words: 'Say when with a cron line of five fields, or every so often (30s, 5m, 2h, 1d).',
    ask: [
      { name: 'name', label: 'Name', required: true },
      { name: 'type', label: 'Type of the tasks', value: type, required: true },
      { name: 'arguments', label: 'Arguments (a JSON array)', value: '[]', lines: 2 },
      { name: 'cron', label: 'Cron, such as 0 3 * * *' },
      { name: 'every', label: 'or every' },
      { name: 'zone', label: 'Time zone, such as Europe/Berlin' },
    ],
    confirm: 'Make the schedule',
    act: async (given) => {
      const body: Record<string, unknown> = { arguments: parse(given.arguments) };
      for (const name of ['name', 'type', 'cron', 'every', 'zone']) {
        if (given[name]) body[name] = given[name];
      }
      await post('/schedules', body);
      return `The schedule ${given.name} was made.`;
    },
  };
}

export function Schedules() {
  const answer = useAsk<All>('/schedules');
  const types = useAsk<Types>('/types', 'types').data?.types ?? [];
  const all = answer.data?.schedules ?? [];
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data) return null;
  const add = (
    <Button class="primary" operator onClick={() => create(types[0]?.name ?? '')}>
      New schedule
    </Button>
  );
  if (all.length === 0) {
    return (
      <Empty title="No schedules">
        <p>
          A schedule starts a task at times that you name, also those that the daemon slept
          through.
        </p>
        {add}
      </Empty>
    );
  }
  return (
    <section aria-label="Schedules">
      <div class="bar">
        <h1>Schedules</h1>
        <span class="grow" />
        {add}
        <Copy text="tiffany schedule ls" />
      </div>
      <Table
        label="Table of schedules"
        head={['Name', 'Next run', '#Runs', '#Skipped', 'Last task', 'State', 'Actions']}
      >
        {all.map((each) => (
          <tr key={each.name}>
            <td>{each.name}</td>
            <td>
              <When at={each.paused ? undefined : each.next} />
            </td>
            <td class="num">{each.runs}</td>
            <td class="num">{each.skipped}</td>
            <td>{each.last && <TaskLink id={each.last} />}</td>
            <td>
              {each.problem ? (
                <span class="bad">{each.problem}</span>
              ) : each.paused ? (
                'paused'
              ) : (
                'active'
              )}
            </td>
            <td class="actions">
              <Button
                operator
                aria-label={`run now ${each.name}`}
                onClick={() => void tell(each.name, 'run')}
              >
                run now
              </Button>
              <Button
                operator
                aria-label={`${each.paused ? 'resume' : 'pause'} ${each.name}`}
                onClick={() => void tell(each.name, each.paused ? 'resume' : 'pause')}
              >
                {each.paused ? 'resume' : 'pause'}
              </Button>
              <Button
                class="danger"
                operator
                aria-label={`remove ${each.name}`}
                onClick={() =>
                  askToRemove(
                    `the schedule ${each.name}`,
                    `/schedules/${encodeURIComponent(each.name)}`,
                    'Runs that are under way go on.',
                  )
                }
              >
                remove
              </Button>
              <Copy text={`tiffany schedule run ${quoted(each.name)}`} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
