// The connection: honest when it is lost, in step again when it is back.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cable, Daemon, openBrowser, openTab, until } from './support.mjs';

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

const shown = async (page, status) =>
  Number((await page.locator(`.count.${status} b`).textContent()).replaceAll(' ', ''));

async function inStep(page) {
  await until(async () => {
    const { counts } = await daemon.get('/info');
    return (
      (await shown(page, 'running')) === counts.running &&
      (await shown(page, 'cancelled')) === counts.cancelled
    );
  }, 'the counts of the page to be those of the daemon');
}

test('a wrong token is refused with a sentence, the right one is kept for the tab', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(daemon.origin);
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('That token is unknown').waitFor();
  await page.getByLabel('Token').fill(daemon.token);
  await page.keyboard.press('Enter');
  await page.getByText('● live').waitFor();
  await page.reload();
  await page.getByText('● live').waitFor();
  const other = await context.newPage();
  await other.goto(daemon.origin);
  await other.getByLabel('Token').waitFor();
  await context.close();
});

test('a token in a link is taken over and does not stay in the address', async () => {
  const page = await openTab(browser, daemon);
  assert.ok(!page.url().includes(daemon.token));
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Forget the token' }).click();
  await page.getByLabel('Token').waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('each event comes once although the stream is cut three times', async () => {
  const cable = await new Cable(daemon).start();
  const page = await openTab(browser, daemon, { origin: cable.origin });
  const told = async () => {
    const { text } = await daemon.ask('GET', '/metrics');
    return Number(/tiffany_pal_events_total\{kind="agent"\} (\d+)/.exec(text)[1]);
  };
  const seen = () => page.evaluate(() => window.tiffany.stream.events);
  const before = (await told()) - (await seen());
  for (let i = 0; i < 3; i += 1) {
    await daemon.waiting(`cut${i}`);
    cable.cut();
    await page.getByText('reconnecting since').waitFor();
    await daemon.waiting(`gap${i}`);
    cable.mend();
    await page.getByText('● live').waitFor();
  }
  await until(
    async () => (await told()) - (await seen()) === before,
    'the events that were missed',
  );
  assert.equal(await page.evaluate(() => window.tiffany.stream.resyncs), 1, 'the first snapshot');
  await inStep(page);
  await page.context().close();
  cable.close();
  assert.deepEqual(page.complaints, []);
});

test('kill -9 of the daemon: the page says since when, and is in step again later', async () => {
  const pages = await Promise.all([1, 2, 3].map(() => openTab(browser, daemon)));
  const { task } = await daemon.waiting('killed');
  await Promise.all(pages.map((page) => page.locator(`tr[data-task="${task}"]`).waitFor()));
  await daemon.end('SIGKILL');
  for (const page of pages) {
    await page.getByText(/reconnecting since \d\d:\d\d:\d\d/).waitFor();
    await page.getByText('What you see is as of then').waitFor();
    assert.equal(await page.locator(`tr[data-task="${task}"]`).count(), 1, 'what was known stays');
  }
  await daemon.start();
  await daemon.post(`/tasks/${task}/kill`);
  for (const page of pages) {
    await page.getByText('● live').waitFor();
    await inStep(page);
    await page.locator(`tr[data-task="${task}"]`).locator('.badge.cancelled').waitFor();
    await page.context().close();
    assert.deepEqual(page.complaints, []);
  }
});

test('frozen: nothing moves, events are counted, and then everything is shown', async () => {
  const page = await openTab(browser, daemon);
  await inStep(page);
  await page.locator('body').press(' ');
  await page.getByText('‖ frozen').waitFor();
  const running = await shown(page, 'running');
  await daemon.waiting('ice');
  await page.getByText(/\d+ events held/).waitFor();
  assert.equal(await shown(page, 'running'), running);
  await page.getByRole('button', { name: 'go on' }).click();
  await inStep(page);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a thousand events a second are at most a few requests a second', async () => {
  const page = await openTab(browser, daemon);
  let requests = 0;
  page.on('request', (request) => {
    if (request.url().includes('/api/v1/tasks?')) requests += 1;
  });
  const began = Date.now();
  const starts = Array.from({ length: 200 }, (_, i) => i);
  const one = async () => {
    for (let i = starts.pop(); i !== undefined; i = starts.pop())
      await daemon.order(`n${i}`, 5000);
  };
  await Promise.all(Array.from({ length: 8 }, one));
  const seconds = (Date.now() - began) / 1000;
  await inStep(page);
  assert.ok(requests <= seconds + 6, `${requests} requests in ${seconds} s`);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a page of another site gets nothing', async () => {
  const answer = await fetch(`${daemon.origin}/api/v1/tasks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${daemon.token}`, origin: 'http://evil.example' },
    body: '{}',
  });
  assert.equal(answer.status, 403);
});
