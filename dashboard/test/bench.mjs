// Measures the dashboard: ./dev bench dashboard [tasks]
//
// Prints a line for each figure, with its limit, and fails when one is over it.
import { build } from 'esbuild';
import { join } from 'node:path';
import { Daemon, dashboard, openBrowser, openTab, sleep, until } from './support.mjs';

const wanted = Number(process.argv[2] ?? 20_000);
let failed = 0;
function report(what, value, unit, limit, less = true) {
  const good = less ? value <= limit : value >= limit;
  if (!good) failed += 1;
  const bound = `${less ? 'at most' : 'at least'} ${limit} ${unit}`;
  console.log(`${good ? 'ok  ' : 'OVER'} ${what}: ${value.toFixed(1)} ${unit} (${bound})`);
}

// The timeline alone, with bars of our own making.
async function timeline(browser) {
  const made = await build({
    stdin: {
      contents: "export { draw } from './timeline';",
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
  await page.setContent('<canvas style="width:1200px;height:600px"></canvas>');
  await page.evaluate(`${made.outputFiles[0].text}; window.lib = lib;`);
  const frames = await page.evaluate(async () => {
    const kinds = ['step', 'timer', 'promise', 'child'];
    const rows = Array.from({ length: 5000 }, (_, i) => `step#${i}`);
    const bars = Array.from({ length: 100_000 }, (_, i) => ({
      row: Math.floor(i / 20),
      began: (i % 20) * 1000,
      ended: (i % 20) * 1000 + 800,
      kind: kinds[i % 4],
      open: false,
    }));
    const canvas = document.querySelector('canvas');
    const began = performance.now();
    let count = 0;
    while (performance.now() - began < 3000) {
      const by = count * 10;
      const seen = { from: by, to: by + 20_000, top: count % 4000 };
      window.lib.draw(canvas, rows, bars, seen, 0, -1);
      count += 1;
      await new Promise((done) => requestAnimationFrame(done));
    }
    return (count * 1000) / (performance.now() - began);
  });
  report('timeline of 100 000 bars, panned', frames, 'frames/s', 30, false);
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

async function paint(browser, daemon) {
  const page = await openTab(browser, daemon);
  const times = [];
  for (let i = 0; i < 5; i += 1) {
    await page.reload();
    await page.locator('tbody tr').nth(99).waitFor();
    times.push(
      await page.evaluate(() => ({
        first: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
        now: performance.now(),
      })),
    );
  }
  const middle = (all) => all.sort((a, b) => a - b)[2];
  report('first paint', middle(times.map((each) => each.first)), 'ms', 300);
  report('rows are there', middle(times.map((each) => each.now)), 'ms', 500);
  report('rows in the DOM', await page.locator('tr').count(), 'rows', 200);
  await page.context().close();
}

// Processor time of the daemon, in seconds.
async function spent(daemon) {
  const { text } = await daemon.ask('GET', '/metrics');
  return Number(/process_cpu_seconds_total (\S+)/.exec(text)?.[1] ?? NaN);
}

async function underLoad(browser, daemon) {
  const page = await openTab(browser, daemon);
  const heap = () => page.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
  await sleep(2000);
  const began = await heap();
  let running = true;
  const load = (async () => {
    while (running) await daemon.order('load', 5);
  })();
  const answers = [];
  for (let i = 0; i < 10; i += 1) {
    const start = Date.now();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    answers.push((Date.now() - start) / 2);
    await sleep(500);
  }
  running = false;
  await load;
  answers.sort((a, b) => a - b);
  report('an action while events come in', answers[5], 'ms', 100);
  report('the heap grew by', (await heap()) - began, 'MB', 20);
  await page.context().close();
}

const daemon = await new Daemon().start();
const browser = await openBrowser();
try {
  await timeline(browser);
  await fill(daemon, wanted);
  await until(async () => (await daemon.get('/info')).counts.running >= wanted, 'the tasks');
  console.log(`${wanted} tasks`);
  await paint(browser, daemon);
  const before = await spent(daemon);
  const page = await openTab(browser, daemon);
  await sleep(5000);
  const busy = ((await spent(daemon)) - before) / 5;
  if (!Number.isNaN(busy)) report('the daemon with one quiet page', busy * 100, '% of a core', 3);
  await page.context().close();
  await underLoad(browser, daemon);
} finally {
  await browser.close();
  await daemon.close();
}
process.exit(failed > 0 ? 1 : 0);
