// What the page makes of records, events and times, without a browser.
import assert from 'node:assert/strict';
import { build } from 'esbuild';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

const root = new URL('..', import.meta.url).pathname;
const out = mkdtempSync(join(tmpdir(), 'tiffany-units-'));
let page;

before(async () => {
  // What the modules look at when they are loaded.
  globalThis.location = { hash: '', pathname: '/', host: 'x' };
  globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} };
  globalThis.addEventListener ??= () => {};
  globalThis.setInterval = () => 0;
  const contents = [
    'history',
    'text',
    'tasks',
    'live',
    'problems',
    'timeline',
    'gantt_draw',
    'process_trace',
    'chart',
    'filters',
    'rows',
    'diff',
    'await_tree',
    'circle',
    'steps',
    'plans',
    'plan_run',
    'plan_graph',
    'memory',
  ]
    .map((name) => `export * from './${name}';`)
    .join('\n');
  await build({
    stdin: { contents, resolveDir: join(root, 'src'), loader: 'ts' },
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    outfile: join(out, 'page.mjs'),
    logLevel: 'error',
  });
  page = await import(join(out, 'page.mjs'));
});
after(() => rmSync(out, { recursive: true }));

const at = (seconds) => `2026-11-17T06:00:${String(seconds).padStart(2, '0')}.000000Z`;

test('events are read however the stream is cut', () => {
  const text =
    'retry: 1000\n\nid: 1-2\nevent: pal\ndata: {"a":": b"}\n\n: still here\n\n' +
    'event: lagged\ndata: {}\n\n';
  const expected = [
    { id: '1-2', event: 'pal', data: '{"a":": b"}' },
    { id: '', event: 'lagged', data: '{}' },
  ];
  for (let size = 1; size <= text.length; size += 1) {
    const reader = new page.FrameReader();
    const found = [];
    for (let i = 0; i < text.length; i += size)
      found.push(...reader.take(text.slice(i, i + size)));
    assert.deepEqual(found, expected, `pieces of ${size}`);
  }
});

test('a step has its attempts, its end and its place', () => {
  const story = page.storyOf([
    { seq: 1, ts: at(0), type: 'Spawn', name: 'order', args: [7] },
    { seq: 2, ts: at(1), type: 'StepStart', step: 'charge#1', attempt: 1, loc: 'a.cpp:3' },
    { seq: 3, ts: at(2), type: 'StepStart', step: 'charge#1', attempt: 2, due: at(4) },
    { seq: 4, ts: at(5), type: 'StepEnd', step: 'charge#1', result: 'paid' },
    { seq: 5, ts: at(5), type: 'boolean', op: 'promise', id: 'ok#1', promise: 'u' },
  ]);
  assert.deepEqual(story.args, [7]);
  const [charge, ok] = story.asked;
  assert.equal(charge.at, 'a.cpp:3');
  assert.deepEqual(
    charge.attempts.map((each) => each.number),
    [1, 2],
  );
  assert.equal(charge.ended - charge.began, 4_000_000);
  assert.equal(charge.result, 'paid');
  assert.equal(ok.kind, 'promise');
  assert.equal(ok.shape, 'boolean');
  assert.equal(ok.ended, undefined);
  assert.equal(story.ended, undefined);
  const bars = page.barsOf(story, page.micros(at(9)));
  assert.deepEqual(
    bars.map((bar) => bar.kind),
    ['failed', 'step', 'promise'],
  );
  assert.equal(bars[1].began, page.micros(at(4)), 'an attempt begins when it is due');
  assert.ok(bars[2].open);
});

test('a first attempt without a record of its own is counted, too', () => {
  const story = page.storyOf([
    { seq: 2, ts: at(1), type: 'StepStart', step: 'ring#1', attempt: 2, due: at(2) },
    { seq: 3, ts: at(2), type: 'StepStart', step: 'ring#1', attempt: 3, due: at(4) },
    { seq: 4, ts: at(4), type: 'StepEnd', step: 'ring#1', result: 'answered', attempts: 3 },
  ]);
  assert.deepEqual(
    story.asked[0].attempts.map((each) => each.number),
    [1, 2, 3],
  );
});

test('what was forgotten by a retry is not shown', () => {
  const story = page.storyOf([
    { seq: 1, ts: at(0), type: 'StepEnd', step: 'a#1', result: 1 },
    { seq: 2, ts: at(1), type: 'StepEnd', step: 'b#1', error: 'no' },
    { seq: 3, ts: at(2), type: 'TaskAbort', reason: 'failed', error: 'no' },
    { seq: 4, ts: at(3), type: 'Command', op: 'retry', from: 'b#1' },
  ]);
  assert.deepEqual(
    story.asked.map((each) => each.id),
    ['a#1'],
  );
  assert.equal(story.ended, undefined);
});

test('failures with the same cause are one group', () => {
  const one = page.causeOf('card 17 of 6f1c2a34-5b6d-4e7f-8a9b-0c1d2e3f4a5b was refused');
  assert.equal(one, page.causeOf('card 4 of 00000000-5b6d-4e7f-8a9b-0c1d2e3f4a5b was refused'));
  assert.notEqual(one, page.causeOf('no card'));
});

test('a plan that ended is told in words', () => {
  const unit = (state) => ({ name: 'x', step: 'x', state });
  const task = (units) => ({ type: 'tiffany.plan', status: 'completed', result: { units } });
  assert.equal(page.briefOfTask(task([unit('done'), unit('done')])), '2 steps done');
  assert.equal(page.briefOfTask(task([unit('done'), unit('skipped')])), '1 step done, 1 skipped');
  assert.equal(page.briefOfTask({ type: 'a', status: 'completed', result: [1] }), '[1]');
  assert.equal(page.briefOfTask({ type: 'a', status: 'failed', detail: 'why' }), 'why');
});

test('times and durations are as people write them', () => {
  assert.equal(page.duration(0.25), '250µs');
  assert.equal(page.duration(1500), '1.5s');
  assert.equal(page.duration(75_000), '1m 15s');
  assert.equal(page.age(999), '0s');
  assert.equal(page.micros('2026-11-17T06:43:00.818270Z') % 1_000_000, 818_270);
  assert.equal(page.quoted("it's"), `'it'\\''s'`);
  assert.equal(page.roundUp(37), 50);
  assert.equal([0, 999, 2500, 16e6].map(page.bytes).join(), '0 B,999 B,2.5 KB,16.0 MB');
});

test('a filter is read from words', () => {
  const filter = page.filterOf('type:order key:a7 customer:Ada');
  assert.equal(filter.type, 'order');
  assert.equal(filter.key, 'a7');
  assert.equal(filter.attribute, 'customer:Ada');
});

test('a diff stands side by side: what went beside what came in its place', () => {
  const diff =
    'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ f\n one\n-two\n+2\n+3\n four\n' +
    '--- a/y\n+++ b/y\n@@ -7 +7 @@\n-- a list\n+- lists\n';
  assert.ok(page.isDiff(diff));
  assert.ok(!page.isDiff('--- a\n+++ b\n') && !page.isDiff({ diff }));
  assert.deepEqual(
    page.rowsOf(diff).map((row) => row.text ?? [row.left?.text, row.right?.text].join('|')),
    ['x', '@@ -1,3 +1,3 @@ f', 'one|one', 'two|2', '|3', 'four|four', 'y', '@@ -7 +7 @@']
      .concat(['- a list|- lists']),
  );
  assert.equal(page.rowsOf(diff).at(-1).left.line, 7);
});

test('pages behind one that begins elsewhere by now are forgotten', () => {
  const task = (id) => ({ id });
  let pages = [{ after: '', tasks: null, size: 100, as: -1 }];
  pages = page.withPage(pages, 0, { tasks: [task('c'), task('b')], next: 'b', counts: {} }, 1);
  pages = page.withPage(pages, 1, { tasks: [task('a')], counts: {} }, 1);
  assert.deepEqual(
    pages.map((each) => each.after),
    ['', 'b'],
  );
  const same = page.withPage(pages, 0, { tasks: [task('c'), task('b')], next: 'b', counts: {} }, 2);
  assert.equal(same[1], pages[1]);
  const newer = { tasks: [task('d'), task('c')], next: 'c', counts: {} };
  const moved = page.withPage(pages, 0, newer, 3);
  assert.deepEqual(
    moved.map((each) => [each.after, each.as]),
    [['', 3], ['c', -1]],
  );
  const end = page.withPage(moved, 0, { tasks: [task('d')], counts: {} }, 4);
  assert.equal(end.length, 1);
  const far = page.withoutFar(Array.from({ length: 30 }, () => ({ tasks: [] })), 20, 20);
  assert.equal(far.filter((each) => each.tasks).length, 13);
});

test('tasks of the process stand below those who started them; the same ones are one', () => {
  const task = (id, by, more = {}) => ({ id, state: 'blocked', spawned: [{ by }], ...more });
  const tree = page.treeOf([
    task('#1'),
    task('#2', '#1', { name: 'client', waits_for: 'read on fd 7' }),
    task('#3', '#1', { name: 'client', waits_for: 'read on fd 8' }),
    task('#4', '#3.9'),
    task('#5', '#4', { name: 'child' }),
  ]);
  const words = ({ task, same, children }) => [task.id, same, ...children.map(words)];
  assert.deepEqual(tree.map(words), [
    ['#1', 0, ['#2', 1]],
    ['#4', 0, ['#5', 0]],
  ]);
  const twins = ['one', 'two'].map((of, i) =>
    task(`#${i}`, undefined, { name: 'order', waits_for: `the log of durable task ${of}` }),
  );
  assert.deepEqual(page.branchesOf(twins, 'two').map(words), [['#1', 0]], 'one of those alike');
});

test('a circle is told once, whoever of it is told of', () => {
  const lint = (tid, names) => ({
    kind: 'deadlock',
    tid,
    text: `task waits for a lock, which waits for it in turn (${names}). None of them goes on`,
  });
  const circles = page.circlesOf([
    lint(1, 'a -> b -> a'),
    lint(2, 'b -> a -> b'),
    { kind: 'stall', tid: 3, text: 'ran long' },
  ]);
  assert.equal(circles.length, 1);
  assert.deepEqual(circles[0].members, ['a', 'b']);
});

test('heat goes from none to five', () => {
  assert.deepEqual(
    [undefined, 10, 1000, 1e6].map((value) => page.heatOf(value, 10, 1e6, true)),
    [0, 1, 2, 5],
  );
  assert.deepEqual(
    [1, 2, 3].map((value) => page.heatOf(value, 1, 3, false)),
    [0, 3, 5],
  );
  assert.equal(page.heatOf(0, 0, 0, false), 0);
  assert.equal(page.heatOf(7, 7, 7, true), 1);
});

test('defaults of a plan are values of its parameters', () => {
  const of = (type, value, choices) => page.firstOf({ name: 'x', type, value, choices });
  assert.deepEqual(
    [of('integer', '7'), of('boolean', 'true'), of('boolean', null), of('string', '7')],
    [7, true, false, '7'],
  );
  assert.equal(of('string', null, ['a', 'b']), 'a');
});

test('an edge over several columns passes no step of those between', () => {
  const node = (name, level) => ({ name, level, kind: 'command', phase: 'steps' });
  const { placed } = page.layout({
    nodes: [node('a', 0), node('b', 0), node('c', 1), node('d', 2)],
    edges: [['a', 'c'], ['c', 'd'], ['b', 'd']],
  });
  const passes = placed.get('b d 1');
  assert.equal(passes.x, placed.get('c').x);
  assert.notEqual(passes.y, placed.get('c').y);
});

test('a recording is slices, waits, the time in between, and who woke whom', () => {
  const slice = (tid, name, ts, dur) => ({ name, ph: 'X', tid, ts, dur, cat: 'slice' });
  const wait = (ph, tid, name, cat, ts) => ({ name, ph, tid, ts, cat, id: 4e18 + tid });
  const trace = page.readTrace([
    wait('b', 7, 'read', 'io', 100),
    wait('b', 8, 'sleep', 'sleep', 101),
    slice(9, 'server', 110, 20),
    wait('e', 7, 'read', 'io', 120),
    wait('e', 8, 'sleep', 'sleep', 125),
    { name: 'wake', ph: 's', tid: 9, ts: 120, id: 1 },
    { name: 'wake', ph: 'f', tid: 7, ts: 131, id: 1 },
    slice(7, 'client', 131, 4),
    wait('b', 7, 'join', 'join', 135),
    { name: 'failed', ph: 'i', tid: 8, ts: 140, s: 't' },
    { name: 'ready', ph: 'C', tid: 0, ts: 131, args: { tasks: 1 } },
    { name: 'thread_name', ph: 'M', tid: 7, args: { name: 'client #7' } },
  ]);
  assert.deepEqual(trace.rows, ['client #7', '#8', '#9']);
  assert.deepEqual(
    trace.bars.map((bar) => [bar.row, bar.kind, bar.name, bar.began, bar.ended].join(' ')),
    [
      '0 io read 100 120',
      '0 ready client 120 131',
      '0 run client 131 135',
      '1 sleep sleep 101 125',
      '1 failed failed 140 140',
      '2 run server 110 130',
    ],
  );
  assert.deepEqual(trace.wakes, [{ from: 2, left: 120, to: 0, right: 131 }]);
  assert.deepEqual([trace.slices, trace.delays], [[4, 20], [11]]);
  assert.deepEqual([trace.began, trace.ended], [100, 140]);
  assert.deepEqual(page.readTrace([]).rows, []);
});

test('figures of a recording: quantiles, and a bucket for each power of two', () => {
  const values = Array.from({ length: 100 }, (_, i) => i + 1);
  assert.deepEqual(
    [0.5, 0.99, 1].map((share) => page.quantile(values, share)),
    [50, 99, 100],
  );
  assert.equal(page.quantile([], 0.5), 0);
  assert.deepEqual(page.buckets([0.2, 1, 3, 20]).map((each) => [each.below, each.count]), [
    [1, 2],
    [2, 0],
    [4, 1],
    [8, 0],
    [16, 0],
    [32, 1],
  ]);
  assert.deepEqual(page.buckets([]), []);
});

test('a row that is chosen comes into sight, and nothing moves when it is there', () => {
  const seen = { from: 0, to: 1, top: 10 };
  const top = (row) => page.revealed(seen, row, 16, 100).top;
  assert.deepEqual([9, 10, 25, 26, 99, -1].map(top), [9, 10, 10, 11, 84, 10]);
  assert.equal(page.revealed(seen, 12, 16, 100), seen);
  assert.equal(page.revealed({ from: 0, to: 1, top: 0 }, 3, 16, 5).top, 0);
});

test('of wakes that cannot be told apart those of the chosen row are drawn', () => {
  const wakes = Array.from({ length: 1000 }, (_, i) => ({
    from: i % 10,
    left: i,
    to: 10 + (i % 10),
    right: i + 2,
  }));
  const seen = (from, to, chosen) => page.arrowsIn(wakes, { from, to, top: 0 }, chosen).length;
  assert.equal(seen(0, 5000, -1), 0);
  assert.equal(seen(0, 5000, 13), 100);
  assert.equal(seen(100, 109, -1), 12, 'also those that began before or end behind it');
});

test('a note has each of its neighbours once, with the ways that the edges lead', () => {
  const edges = [
    { from: 'a', to: 'b', kind: 'see' },
    { from: 'b', to: 'a', kind: 'see' },
    { from: 'a', to: 'b', kind: 'cause' },
    { from: 'c', to: 'a', kind: '<b>' },
    { from: 'a', to: 'a', kind: 'see' },
    { from: 'b', to: 'c', kind: 'see' },
  ];
  assert.deepEqual(page.neighboursOf('a', edges), [
    ['b', '→ see, ← see, → cause'],
    ['c', '← <b>'],
  ]);
  assert.deepEqual(page.neighboursOf('x', edges), []);
});
