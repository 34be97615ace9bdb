// What agents have noted down: found by words, with where each note comes from, and forgotten.
import { useEffect, useState } from 'preact/hooks';
import { askToRemove } from './actions';
import { get, query } from './api';
import type { Note, NoteEdge, Notes, NoteWithEdges } from './api_types';
import { Boxes, type Box } from './graph';
import { useAsk } from './live';
import { Button, Card, Copy, Empty, Failure, TaskLink, When } from './parts';
import { link, refine, route } from './route';
import { number, quoted, shortId } from './text';

const most = 50;
const mostNeighbours = 12;

const pathOf = (id: string) => `memory/${encodeURIComponent(id)}`;

// Each note that is one edge away, once, with what the edges say: "→ see" leads there.
export function neighboursOf(id: string, edges: NoteEdge[]): [string, string][] {
  const found = new Map<string, string[]>();
  for (const { from, to, kind } of edges) {
    if (from === to || (from !== id && to !== id)) continue;
    const other = from === id ? to : from;
    found.set(other, [...(found.get(other) ?? []), `${from === id ? '→' : '←'} ${kind}`]);
  }
  return [...found].map(([other, words]) => [other, words.join(', ')]);
}

// By characters: none is cut in half.
const brief = (text: string) => text.replace(/^(.{23})..+$/su, '$1…');

function forget(note: Note): void {
  const words =
    note.text.slice(0, 300) +
    '\n\nNo agent finds it from then on, and the log does not bring it back.';
  askToRemove(
    `the note ${shortId(note.id)}`,
    `/${pathOf(note.id)}`,
    <p class="asked">{words}</p>,
    'Forget',
  );
}

function NoteCard({ note, edges }: { note: Note; edges: NoteEdge[] }) {
  const { id, kind, text, made, expires, origins } = note;
  const connected = neighboursOf(id, edges).length;
  return (
    <>
      <pre class="json" tabIndex={0} role="region" aria-label={`Note ${shortId(id)}`}>
        {text}
      </pre>
      <div class="bar">
        <a href={link('memory', { ...route.value.query, kind })}>{kind}</a>
        <When at={made} />
        <span>
          {expires ? (
            <>
              expires <When at={expires} />
            </>
          ) : (
            <span class="dim">does not expire</span>
          )}
        </span>
        <span>
          from{' '}
          {origins.map((each, i) => (
            <span key={i}>
              {i > 0 && ', '}
              <TaskLink id={each.task} /> <span class="mono dim">{each.step}</span>
            </span>
          ))}
        </span>
        <span class="grow" />
        <a
          href={link(pathOf(id), route.value.query)}
          aria-label={`${connected} connected with ${shortId(id)}`}
        >
          {connected} connected
        </a>
        <Button
          class="danger"
          operator
          aria-label={`forget ${shortId(id)}`}
          onClick={() => forget(note)}
        >
          forget
        </Button>
      </div>
    </>
  );
}

// One note with those around it.
function Chosen({ id }: { id: string }) {
  const answer = useAsk<NoteWithEdges>(`/${pathOf(id)}`);
  const edges = answer.data?.edges ?? [];
  const around = neighboursOf(id, edges);
  const [texts, setTexts] = useState<Record<string, string>>({});
  const shown = around.slice(0, mostNeighbours).map(([other]) => other);
  useEffect(() => {
    const abort = new AbortController();
    for (const other of shown) {
      get<NoteWithEdges>(`/${pathOf(other)}`, abort.signal)
        .then(({ note }) => setTexts((all) => ({ ...all, [other]: note.text })))
        .catch(() => undefined); // it went meanwhile: its id stays
    }
    return () => abort.abort();
  }, [shown.join()]);
  const box = (other: string, text: string, words: string, boxes: Box[] = []): Box => ({
    key: other,
    href: link(pathOf(other), route.value.query),
    look: other === id ? 'this' : '',
    lines: [brief(text), words],
    boxes,
  });
  const note = answer.data?.note;
  return (
    <Card
      label="One note"
      title={`Note ${shortId(id)}`}
      more={
        <>
          <Copy text={`tiffany memory show ${quoted(id)}`} />
          <a href={link('memory', route.value.query)}>Close</a>
        </>
      }
    >
      {answer.error && <Failure error={answer.error} />}
      {note && (
        <>
          <NoteCard note={note} edges={edges} />
          {shown.length > 0 ? (
            <Boxes
              label="Notes around it"
              things="notes"
              root={box(
                id,
                note.text,
                note.kind,
                shown.map((other, i) => box(other, texts[other] ?? other, around[i][1])),
              )}
            />
          ) : (
            <p class="dim">Nothing is connected with it.</p>
          )}
          {around.length > shown.length && (
            <p class="dim">And {around.length - shown.length} others.</p>
          )}
        </>
      )}
    </Card>
  );
}

export function MemoryView() {
  const { query: words = '', kind } = route.value.query;
  const [chosen] = route.value.parts;
  const answer = useAsk<Notes>('/memory' + query({ query: words, kind, limit: most }));
  const command = words ? `recall ${quoted(words)}` : 'ls';
  if (answer.error?.status === 404) {
    return (
      <Empty title="The agents of this daemon have no memory">
        <p>
          Name a file for it in the file of the setting <code>agents</code>:{' '}
          <code>{'{"memory": "memory.db"}'}</code>. Agents write notes down in it, and find them
          again.
        </p>
      </Empty>
    );
  }
  const { notes = [], edges = [], all_notes = 0, all_edges = 0 } = answer.data ?? {};
  return (
    <section aria-label="Memory">
      <div class="bar">
        <h1>Memory</h1>
        <span class="dim">
          {number(all_notes)} notes, {number(all_edges)} connections
        </span>
        <span class="grow" />
        <label class="check">
          Words{' '}
          <input
            id="filter"
            type="search"
            placeholder="Enter finds"
            value={words}
            onChange={(event) => refine({ query: event.currentTarget.value })}
          />
        </label>
        {kind && <Button onClick={() => refine({ kind: undefined })}>{kind} ×</Button>}
        <Copy text={`tiffany memory ${command}${kind && words ? ` --kind ${quoted(kind)}` : ''}`} />
      </div>
      {answer.error && !answer.data && <Failure error={answer.error} />}
      {chosen && <Chosen key={chosen} id={chosen} />}
      {answer.data && notes.length === 0 && (
        <Empty title={words || kind ? 'No note fits' : 'No notes yet'}>
          <p>
            {words || kind
              ? 'A note is found by each of its words, written out.'
              : 'An agent writes one down with its tool remember.'}
          </p>
        </Empty>
      )}
      <ul class="plain" aria-label="Notes">
        {notes.map((each) => (
          <li key={each.id}>
            <div class="card">
              <NoteCard note={each} edges={edges} />
            </div>
          </li>
        ))}
      </ul>
      {notes.length === most && <p class="dim">The first {most}. Words find others.</p>}
    </section>
  );
}
