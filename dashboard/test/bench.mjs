// Measures the dashboard: ./dev bench dashboard [tasks]
//
// usage: node test/bench.mjs [tasks [rounds [part,...]]]; parts: timeline, paint, load, heap
//
// Prints a line for each figure, with its limit, writes them to build/bench/dashboard.json, and
// fails when one is over its limit.
import { build } from 'esbuild';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Daemon, dashboard, openBrowser, openTab, sleep, until } from './support.mjs';

const wanted = Number(process.argv[2] ?? 20_000);
const rounds = Number(process.argv[3] ?? 3600);
const parts = process.argv[4]?.split(',') ?? ['timeline', 'paint', 'load', 'heap'];
let failed = 0;
const figures = [];
function report(what, value, unit, limit, less = true) {
  const good = less ? value <= limit : value >= limit;
  if (!good) failed += 1;
  figures.push({ what, value, unit, limit, good });
  const bound = `${less ? 'at most' : 'at least'} ${limit} ${unit}`;
  console.log(`${good ? 'ok  ' : 'OVER'} ${what}: ${value.toFixed(1)} ${unit} (${bound})`);
}

// The timeline alone, with bars of our own making.
async function timeline(browser) {
  const made = await build({
    stdin: {
      contents: "export { draw } from './gantt_draw';",
      resolveDir: join(dashboard, 'src'),
      loader: 'ts',
    },
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'lib',
    jsx: 'automatic',
    jsxImportSource: 'preact',
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  const style = readFileSync(join(dashboard, 'src', 'style.css'), 'utf8');
  await page.setContent(
    `<style>${style}</style><canvas style="width:1200px;height:600px"></canvas>`,
  );
  await page.evaluate(`${made.outputFiles[0].text}; window.lib = lib;`);
  // Rows and bars of each: with few in sight, and all of them in sight with wakes between them.
  const frames = (rowCount, perRow) =>
    page.evaluate(
      async ([count, each]) => {
        const kinds = ['run', 'ready', 'io', 'sleep'];
        const rows = Array.from({ length: count }, (_, i) => `task #${i}`);
        const bars = Array.from({ length: count * each }, (_, i) => ({
          row: Math.floor(i / each),
          began: (i % each) * 1000,
          ended: (i % each) * 1000 + 800,
          kind: kinds[i % 4],
        }));
        const wakes = bars.slice(0, 50_000).map((_, i) => ({
          from: i % count,
          left: (i * each) / 50,
          to: (i * 7) % count,
          right: (i * each) / 50 + 500,
        }));
        const canvas = document.querySelector('canvas');
        const began = performance.now();
        let drawn = 0;
        while (performance.now() - began < 3000) {
          const by = drawn * 10;
          const seen = { from: by, to: by + each * 1000, top: drawn % Math.max(1, count - 30) };
          window.lib.draw(canvas, rows, bars, seen, 0, 3, wakes);
          drawn += 1;
          await new Promise((done) => requestAnimationFrame(done));
        }
        return (drawn * 1000) / (performance.now() - began);
      },
      [rowCount, perRow],
    );
  report('timeline of 100 000 bars, panned', await frames(5000, 20), 'frames/s', 30, false);
  report('the same, all of them in sight', await frames(25, 4000), 'frames/s', 30, false);
  await page.close();
}

async function fill(daemon, count) {
  let next = 0;
  const one = async () => {
    while (next < count) {
      next += 1;
      await daemon.order(`t${next}`, 5000);
    }
  };
  await Promise.all(Array.from({ length: 32 }, one));
}

const middle = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];

async function paint(browser, daemon) {
  const page = await openTab(browser, daemon);
  const times = [];
  for (let i = 0; i < 5; i += 1) {
    await page.reload();
    // In the page itself: when the first row is there and can be clicked.
    const rows = await page.evaluate(
      () =>
        new Promise((done) => {
          const look = () => {
            const box = document.querySelector('tr[data-task] input');
            if (!box) return requestAnimationFrame(look);
            box.click();
            requestAnimationFrame(() => done(performance.now()));
          };
          look();
        }),
    );
    const first = await page.evaluate(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    );
    times.push({ first, rows });
  }
  report('first paint', middle(times.map((each) => each.first)), 'ms', 300);
  report('interactive: a row can be chosen', middle(times.map((each) => each.rows)), 'ms', 500);
  const table = page.getByRole('region', { name: 'Table of tasks' });
  let most = 0;
  for (let i = 0; i < 60; i += 1) {
    most = Math.max(most, await page.locator('tr').count());
    await table.evaluate((box) => box.scrollBy(0, 900));
    await sleep(15);
  }
  report('rows in the DOM, while it is scrolled', most, 'rows', 200);
  await page.context().close();
}

const metric = async (daemon, pattern) => {
  const { text } = await daemon.ask('GET', '/metrics');
  return Number(pattern.exec(text)?.[1] ?? NaN);
};
// Processor time of the daemon, in seconds (Linux counts in hundredths), and events that it told.
const spent = async (daemon) => {
  const fields = readFileSync(`/proc/${daemon.process.pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
};
const told = (daemon) => metric(daemon, /tiffany_pal_events_total\{kind="agent"\} (\d+)/);

// Small orders, as many as make about so many events a second; an order tells eight.
class Load {
  constructor(daemon, events) {
    this.daemon = daemon;
    this.running = true;
    this.done = this.run(events / 8);
  }
  async run(orders) {
    const began = Date.now();
    const under = new Set();
    for (let count = 0; this.running;) {
      const due = ((Date.now() - began) / 1000) * orders;
      for (; count < due && under.size < 32; count += 1) {
        const one = this.daemon.order('load', 5).finally(() => under.delete(one));
        under.add(one);
      }
      await sleep(5);
    }
    await Promise.all(under);
  }
  async end() {
    this.running = false;
    await this.done;
  }
}

const wantedEvents = 1000;

async function underLoad(browser, daemon) {
  const seconds = 8;
  const over = async () => {
    const before = [await spent(daemon), await told(daemon)];
    await sleep(seconds * 1000);
    return [
      ((await spent(daemon)) - before[0]) / seconds,
      ((await told(daemon)) - before[1]) / seconds,
    ];
  };
  // Events are told to nobody without a reader: an open stream that nothing is drawn of.
  const abort = new AbortController();
  const reader = await fetch(`${daemon.origin}/api/v1/pal`, {
    headers: { authorization: `Bearer ${daemon.token}` },
    signal: abort.signal,
  });
  const drain = (async () => {
    for await (const part of reader.body) void part;
  })().catch(() => undefined);
  const load = new Load(daemon, wantedEvents);
  await sleep(2000);
  const [without] = await over();
  const page = await openTab(browser, daemon);
  await sleep(1000);
  const [withPage, events] = await over();
  report('events a second meanwhile', events, 'events/s', wantedEvents * 0.8, false);
  const percent = (part) => `${(part * 100).toFixed(1)}%`;
  console.log(`     the daemon: ${percent(without)} without a page, ${percent(withPage)} with one`);
  const more = withPage - without; // below zero on a machine that has other work
  report('the daemon for one open page, at these events', more * 100, '% of a core', 3);
  const answers = [];
  for (let i = 0; i < 15; i += 1) {
    // From the key to the frame after the dialog is there, in the page itself.
    answers.push(
      await page.evaluate(
        () =>
          new Promise((done) => {
            const began = performance.now();
            const look = () => {
              const box = document.querySelector('dialog[open]');
              if (!box) return requestAnimationFrame(look);
              box.close();
              requestAnimationFrame(() => done(performance.now() - began));
            };
            dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));
            look();
          }),
      ),
    );
    await sleep(200);
  }
  report('the palette after its key, while events come in', middle(answers), 'ms', 100);
  // A task is paused and resumed: from the click that confirms it to the answer of the daemon, and
  // to the frame with the state that it has then.
  const id = await daemon.order('acted on', 5000);
  await page.goto(`${daemon.origin}/#/task/${id}`);
  await page.locator('.title .badge.running').waitFor();
  const acted = [];
  for (let i = 0; i < 10; i += 1) {
    const [verb, becomes] = i % 2 === 0 ? ['pause', 'paused'] : ['resume', 'running'];
    await page.getByRole('button', { name: verb, exact: true }).click();
    await page.getByRole('dialog').waitFor();
    acted.push(
      await page.evaluate(
        (badge) =>
          new Promise((done) => {
            const began = performance.now();
            let answered = 0;
            const look = () => {
              if (!answered && !document.querySelector('dialog[open]'))
                answered = performance.now() - began;
              if (!answered || !document.querySelector(`.title .badge.${badge}`))
                return requestAnimationFrame(look);
              requestAnimationFrame(() => done({ answered, shown: performance.now() - began }));
            };
            document.querySelector('dialog[open] button[type=submit]').click();
            look();
          }),
        becomes,
      ),
    );
  }
  const median = (name) => middle(acted.map((each) => each[name]));
  report('pause or resume is answered, while events come in', median('answered'), 'ms', 100);
  report('and its state is shown', median('shown'), 'ms', 200);
  await page.context().close();
  await load.end();
  abort.abort();
  await drain;
}

// An hour of traffic makes 3600 rounds of requests, one a second at the most.
async function heap(browser, daemon) {
  const page = await openTab(browser, daemon);
  const client = await page.context().newCDPSession(page);
  const used = async () => {
    await client.send('HeapProfiler.collectGarbage');
    return (await client.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  const run = async (count) => {
    let order = null;
    for (let i = 0; i < count; i += 1) {
      if (i % 10 === 0) {
        await order;
        order = daemon.order('heap', 5);
      }
      await page.evaluate(async () => {
        window.tiffany.refresh();
        await new Promise((done) => requestAnimationFrame(done));
      });
    }
    await order;
    await sleep(500);
  };
  await run(100);
  const began = await used();
  await run(rounds);
  report(`the heap after ${rounds} rounds grew by`, (await used()) - began, 'MB', 3);
  await page.context().close();
}

const daemon = await new Daemon().start();
const browser = await openBrowser();
try {
  if (parts.includes('timeline')) await timeline(browser);
  if (parts.some((part) => part !== 'timeline')) {
    await fill(daemon, wanted);
    await until(async () => (await daemon.get('/info')).counts.running >= wanted, 'the tasks');
    console.log(`${wanted} tasks`);
  }
  if (parts.includes('paint')) await paint(browser, daemon);
  if (parts.includes('load')) await underLoad(browser, daemon);
  if (parts.includes('heap')) await heap(browser, daemon);
} finally {
  await browser.close();
  await daemon.close();
  const into = join(dashboard, '..', 'build', 'bench');
  mkdirSync(into, { recursive: true });
  writeFileSync(join(into, 'dashboard.json'), JSON.stringify({ tasks: wanted, figures }, null, 2));
}
process.exit(failed > 0 ? 1 : 0);
