// Steps and waits of a task on an axis of time. The table of steps below it has the same data.
import { Gantt } from './gantt';
import type { Bar } from './gantt_draw';
import type { Asked, Story } from './history';

export function barsOf(story: Story, now: number): Bar[] {
  const bars: Bar[] = [];
  story.asked.forEach((asked, row) => {
    const until = asked.ended ?? story.ended ?? now;
    const open = asked.ended === undefined && story.ended === undefined;
    if (asked.attempts.length < 2) {
      const kind = asked.failed ? 'failed' : asked.kind;
      bars.push({ row, began: asked.began, ended: until, kind, open });
      return;
    }
    asked.attempts.forEach((attempt, i) => {
      const last = i === asked.attempts.length - 1;
      bars.push({
        row,
        began: attempt.began,
        ended: attempt.ended ?? until,
        kind: last && !asked.failed ? 'step' : 'failed',
        open: last && open,
      });
    });
  });
  return bars;
}

const legend: [string, string][] = [
  ['step', 'step'],
  ['timer', 'sleep'],
  ['promise', 'promise'],
  ['child', 'child'],
  ['signal', 'signal'],
  ['failed', 'failed attempt'],
];

export function Timeline({
  story,
  now,
  chosen,
  choose,
}: {
  story: Story;
  now: number;
  chosen: string;
  choose: (asked: Asked) => void;
}) {
  const rows = story.asked.map((asked) => asked.id);
  const zero = story.began;
  return (
    <Gantt
      rows={rows}
      bars={barsOf(story, now)}
      zero={zero}
      end={Math.max(story.ended ?? now, story.last, zero + 1000)}
      chosen={story.asked.findIndex((asked) => asked.id === chosen)}
      choose={(row) => choose(story.asked[row])}
      legend={legend}
      label={`Timeline of ${rows.length} steps and waits; the table below has the same data`}
    />
  );
}
