// A unified diff side by side.
import { useState } from 'preact/hooks';
import { Button, save, Scroll } from './parts';

export interface DiffRow {
  kind: 'file' | 'hunk' | 'same' | 'changed';
  left?: { line: number; text: string };
  right?: { line: number; text: string };
  text?: string; // of a file or a hunk
}

const hunkHead = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

export function isDiff(text: unknown): text is string {
  return typeof text === 'string' && /^--- .*\n\+\+\+ .*\n@@ -\d/m.test(text);
}

// Lines that were taken out stand beside those that came in their place.
export function rowsOf(diff: string): DiffRow[] {
  const rows: DiffRow[] = [];
  let left = 0;
  let right = 0;
  let gone: { line: number; text: string }[] = [];
  let came: { line: number; text: string }[] = [];
  const settle = () => {
    for (let i = 0; i < Math.max(gone.length, came.length); i += 1) {
      rows.push({ kind: 'changed', left: gone[i], right: came[i] });
    }
    gone = [];
    came = [];
  };
  for (const line of diff.split('\n')) {
    const hunk = hunkHead.exec(line);
    if (hunk) {
      settle();
      left = Number(hunk[1]);
      right = Number(hunk[2]);
      rows.push({ kind: 'hunk', text: line });
    } else if (left === 0 && right === 0) {
      if (line.startsWith('+++ ')) {
        rows.push({ kind: 'file', text: line.slice(4).replace(/^b\//, '') });
      }
    } else if (line.startsWith('--- ') || line.startsWith('diff ')) {
      settle();
      left = right = 0;
    } else if (line.startsWith('-')) {
      gone.push({ line: left++, text: line.slice(1) });
    } else if (line.startsWith('+')) {
      came.push({ line: right++, text: line.slice(1) });
    } else if (line.startsWith(' ')) {
      settle();
      const text = line.slice(1);
      rows.push({ kind: 'same', left: { line: left++, text }, right: { line: right++, text } });
    }
  }
  settle();
  return rows;
}

const firstRows = 150;

function Side({ side, sign }: { side?: { line: number; text: string }; sign: string }) {
  const filled = side && sign ? (sign === '-' ? ' gone' : ' came') : '';
  return (
    <>
      <td class="num dim">{side?.line}</td>
      <td class={`code${filled}`}>
        {side && sign ? <span aria-label={sign === '-' ? 'removed' : 'added'}>{sign}</span> : ' '}
        {side?.text}
      </td>
    </>
  );
}

// `file`: what it is called when it is downloaded.
export function Diff({ text, label, file }: { text: string; label: string; file: string }) {
  const [all, setAll] = useState(false);
  const rows = rowsOf(text);
  const files = rows.filter((row) => row.kind === 'file').length;
  const count = (of: 'left' | 'right') =>
    rows.filter((row) => row.kind === 'changed' && row[of]).length;
  const shown = all ? rows : rows.slice(0, firstRows);
  return (
    <>
      <p>
        {files} {files === 1 ? 'file' : 'files'} <span class="good">+{count('right')}</span>{' '}
        <span class="bad">−{count('left')}</span>{' '}
        <Button class="quiet" onClick={() => save(file, text, 'text/x-diff')}>Download diff</Button>
      </p>
      <Scroll label={label}>
        <table class="diff">
          <colgroup>
            <col class="num" />
            <col />
            <col class="num" />
            <col />
          </colgroup>
          <tbody>
            {shown.map((row, i) =>
              row.text !== undefined ? (
                <tr key={i} class={row.kind}>
                  <td colSpan={4}>{row.text}</td>
                </tr>
              ) : (
                <tr key={i} class={row.kind}>
                  <Side side={row.left} sign={row.kind === 'same' ? '' : '-'} />
                  <Side side={row.right} sign={row.kind === 'same' ? '' : '+'} />
                </tr>
              ),
            )}
          </tbody>
        </table>
      </Scroll>
      {rows.length > shown.length && (
        <Button onClick={() => setAll(true)}>
          All {rows.length} lines
        </Button>
      )}
    </>
  );
}
