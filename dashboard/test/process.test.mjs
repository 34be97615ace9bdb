// The process itself: its scheduler over time, and a recording of it, slice by slice.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { coloursOf, Daemon, openBrowser, openTab, until } from './support.mjs';

let daemon;
let browser;
before(async () => {
  daemon = await new Daemon().start();
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
  await daemon.close();
});

const canvasOf = (page) => page.locator('.timeline canvas');
const attribute = async (page, name) => Number(await canvasOf(page).getAttribute(`data-${name}`));

test('a recording shows who ran, was ready and waited, and who woke whom', async () => {
  const page = await openTab(browser, daemon, { hash: '#/timeline' });
  await page.getByText('Nothing is recorded yet').waitFor();
  await page.getByLabel('seconds').selectOption('1');
  await page.getByRole('button', { name: 'Record 1 s' }).click();
  await page.getByRole('button', { name: 'Recording 1 s…' }).waitFor();
  // Tasks that run, sleep and write to the log meanwhile.
  for (let i = 0; i < 5; i += 1) await daemon.order(`r${i}`, 5);
  await canvasOf(page).waitFor();
  assert.ok((await attribute(page, 'bars')) > 50);
  await until(async () => (await coloursOf(page, ['run'])).run, 'the first frame');
  assert.deepEqual(await coloursOf(page, ['run', 'sleep', 'io', 'failed']), {
    run: true,
    sleep: true,
    io: true,
    failed: false,
  });
  // A row in words, where it was woken. Which row it is, and when, is found by clicking.
  const slices = page.getByRole('region', { name: 'Slices' });
  const row = page.getByLabel('Row');
  const names = await row.locator('option').allTextContents();
  const events = names.findIndex((name) => name.startsWith('events of durable tasks'));
  await row.selectOption({ index: events });
  await slices.getByText('runs').first().waitFor();
  const wide = (await canvasOf(page).boundingBox()).width;
  await until(async () => {
    for (let x = 200; x < wide - 10; x += 25) {
      await canvasOf(page).click({ position: { x, y: 32 + (events - 1) * 20 } });
      if (/#\d+, .*before/.test(await slices.textContent())) return true;
    }
    return false;
  }, 'a slice that another task made ready');
  assert.ok((await attribute(page, 'arrows')) > 0);
  // Down to microseconds.
  await canvasOf(page).focus();
  for (let i = 0; i < 80; i += 1) await page.keyboard.press('+');
  await until(async () => (await attribute(page, 'span')) <= 1, 'a window of a microsecond');
  await page.getByRole('button', { name: 'All' }).click();
  await until(async () => (await attribute(page, 'span')) > 100_000, 'everything');
  const ran = page.getByRole('region', { name: 'How long tasks ran at a time' });
  assert.match(await ran.textContent(), /half within \d.*99 of 100 within \d/);
  await page.getByRole('region', { name: 'From ready to running' }).waitFor();
  // It is still there after another view, and is a file for Perfetto.
  await page.locator('body').press('g');
  await page.keyboard.press('s');
  await page.getByRole('link', { name: 'Slice by slice' }).click();
  await canvasOf(page).waitFor();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download for Perfetto' }).click(),
  ]);
  assert.ok(JSON.parse(readFileSync(await file.path(), 'utf8')).traceEvents.length > 50);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('two at once: the second is told that somebody records', async () => {
  const [one, two] = await Promise.all(
    [1, 2].map(() => openTab(browser, daemon, { hash: '#/timeline' })),
  );
  await one.getByRole('button', { name: 'Record 2 s' }).click();
  await one.getByRole('button', { name: 'Recording 2 s…' }).waitFor();
  await until(async () => {
    const answer = await daemon.ask('GET', '/api/v1/trace?seconds=1');
    return answer.status === 409;
  }, 'the recording to have begun');
  await two.getByRole('button', { name: 'Record 2 s' }).click();
  await two.getByText('Somebody else records the process').waitFor();
  await canvasOf(one).waitFor();
  for (const page of [one, two]) {
    await page.context().close();
    assert.deepEqual(page.complaints, []);
  }
});

test('the scheduler view has its charts, its calls, its log and its await tree', async () => {
  const page = await openTab(browser, daemon, { hash: '#/scheduler' });
  for (let i = 0; i < 3; i += 1) await daemon.waiting(`s${i}`);
  const titles = page.locator('.chart figcaption');
  await until(async () => (await titles.count()) === 6, 'six charts');
  for (const name of ['Ready tasks', 'Waiting tasks', 'Slices', 'Events of tasks', 'Log'])
    await page.getByText(name, { exact: true }).first().waitFor();
  // A second sample: rates, and a map of calls with their share.
  const row = page.getByRole('row', { name: /write_at/ });
  await row.waitFor();
  assert.ok(Number((await row.locator('td').nth(2).textContent()).replaceAll(' ', '')) > 0);
  assert.equal(await page.locator('.chart canvas').count(), 6);
  assert.match(await page.locator('.figures').textContent(), /stalls.*deadlocks.*timers/);
  const tree = page.getByRole('region', { name: 'Await tree' });
  await tree.getByText('order').first().click();
  await tree.getByText(/dashboard_daemon\.cpp:\d+/).first().waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});
