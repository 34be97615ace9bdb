// Files that the steps of a run of a plan left: by step, with size and digest, to download.
import { base, getBlob } from './api';
import type { Artifacts as Kept, Task } from './api_types';
import { useAsk } from './live';
import { Button, Copy, Failure, saveBlob, say, Table } from './parts';
import { bytes, quoted } from './text';

type File = Kept['artifacts'][number];
const mostShown = 150;
// The daemon looks at the end of each command to answer.
const rest = 2000;

async function download(task: Task, file: File): Promise<void> {
  const name = file.name ?? '';
  const path =
    `${base}/tasks/${task.id}/artifacts/${encodeURIComponent(name)}` +
    `?unit=${encodeURIComponent(file.unit ?? '')}`;
  try {
    saveBlob(name.replace(/^.*\//, ''), await getBlob(path));
  } catch (error) {
    say((error as Error).message);
  }
}

// `unit`: only those of that step or item.
export function Artifacts({ task, unit }: { task: Task; unit?: string }) {
  const answer = useAsk<Kept>(`/tasks/${task.id}/artifacts`, task.id, rest);
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  const all = answer.data?.artifacts ?? [];
  if (all.length === 0) return null;
  const shown = all.filter((each) => !unit || each.unit === unit);
  return (
    <section aria-label="Artifacts">
      <div class="bar">
        <h3>
          Artifacts{unit && ` of ${unit}`}{' '}
          <span class="dim">
            {shown.length}, {bytes(shown.reduce((sum, each) => sum + (each.size ?? 0), 0))}
          </span>
        </h3>
        <span class="grow" />
        <Copy text={`tiffany artifacts ${task.id}`} />
      </div>
      {shown.length === 0 ? (
        <p class="dim">None of this step; {all.length} of others.</p>
      ) : (
        <Table label="Table of artifacts" head={['File', 'Step', '#Size', 'SHA-256', 'Actions']}>
          {shown.slice(0, mostShown).map((each) => (
            <tr key={`${each.unit} ${each.name}`}>
              <td class="mono">{each.name}</td>
              <td class="mono">{each.unit}</td>
              <td class="num" title={`${each.size} bytes`}>
                {bytes(each.size ?? 0)}
              </td>
              <td class="mono dim" title={each.sha256}>
                {each.sha256?.slice(0, 12)}…
              </td>
              <td>
                <Button
                  aria-label={`Download ${each.name} of ${each.unit}`}
                  title={`tiffany artifacts ${task.id} ${quoted(each.name ?? '')}`}
                  onClick={() => void download(task, each)}
                >
                  Download
                </Button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {shown.length > mostShown && (
        <p class="dim">
          {shown.length - mostShown} others: <code>tiffany artifacts {task.id}</code> has all.
        </p>
      )}
    </section>
  );
}
