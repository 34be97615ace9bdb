// Skills of agents, and how often each was used: the more, the stronger is the shade.
import type { Skills } from './api_types';
import { useAsk } from './live';
import { Copy, Empty, Failure, Table } from './parts';
import { heatOf } from './steps';
import { number } from './text';

export function SkillsView() {
  const answer = useAsk<Skills>('/skills');
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data) return null;
  const { skills } = answer.data;
  if (skills.length === 0) {
    return (
      <Empty title="The agents of this daemon have no skills">
        <p>
          A skill is a directory with a <code>SKILL.md</code>, and perhaps tools. Name it in the
          file of the setting <code>agents</code>: <code>{'{"skills": ["skills/release"]}'}</code>
        </p>
      </Empty>
    );
  }
  const used = skills.map((each) => each.used).filter((each) => each > 0);
  return (
    <section aria-label="Skills">
      <div class="bar">
        <h1>Skills</h1>
        <span class="grow" />
        <Copy text="tiffany skills -o wide" />
      </div>
      <Table
        label="Table of skills"
        head={['Name', '#Used', 'What it is for', 'Tools', 'SHA-256 of its files']}
      >
        {skills.map((each) => (
          <tr key={each.name}>
            <th scope="row">{each.name}</th>
            <td class={`num heat${heatOf(each.used, Math.min(...used), Math.max(...used), true)}`}>
              {number(each.used)}
            </td>
            <td class="wrap">{each.description}</td>
            <td class="mono">{each.tools.join(', ') || '–'}</td>
            <td class="mono" title={each.digest}>
              {each.digest.slice(0, 12)}… <Copy text={each.digest}>Copy</Copy>
            </td>
          </tr>
        ))}
      </Table>
      <p class="dim">
        Used: how often agents have read it since the daemon began. The stronger the shade, the
        more often.
      </p>
    </section>
  );
}
