// What somebody new wants to know, and how many clicks it takes: at most three each.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon, openBrowser, openTab } from './support.mjs';

let daemon;
let browser;
const known = {};
before(async () => {
  daemon = await new Daemon().start();
  browser = await openBrowser();
  const start = async (type, ...args) =>
    (await daemon.post('/tasks', { type, arguments: args })).id;
  known.stuck = (await daemon.waiting('stuck')).task;
  known.knot = await start('knot');
  known.failed = await start('refused', 17);
  known.patch = await start('patch');
  await daemon.waiting('noise');
  await daemon.get(`/tasks/${known.failed}/result?wait=20s`);
});
after(async () => {
  await browser.close();
  await daemon.close();
});

// A tab at the first view, which counts what is clicked by hand.
async function newcomer() {
  const page = await openTab(browser, daemon);
  await page.evaluate(() => {
    globalThis.clicks = 0;
    const count = (event) => (globalThis.clicks += event.isTrusted ? 1 : 0);
    addEventListener('click', count, true);
  });
  await page.locator('tr[data-task]').first().waitFor();
  return page;
}
async function took(page, most) {
  const clicks = await page.evaluate(() => globalThis.clicks);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
  assert.ok(clicks >= 1 && clicks <= most, `${clicks} clicks, at most ${most}`);
}
const row = (page, id) => page.locator(`tr[data-task="${id}"]`);

test('why a task is stuck, at which line, and what it did before: one click', async () => {
  const page = await newcomer();
  await row(page, known.stuck).getByRole('link').click();
  const waits = page.locator('.card', { hasText: 'Waits for' }).first();
  await waits.getByText('promise approval#1').waitFor();
  await waits.getByText(/^ for \d/).waitFor();
  assert.match(await waits.textContent(), /at dashboard_daemon\.cpp:\d+ for \d/);
  const before = page.getByRole('row', { name: /charge#1/ });
  assert.match(await before.textContent(), /done.*dashboard_daemon\.cpp:\d+.*payment-stuck/);
  await took(page, 1);
});

test('who waits for whom in a circle: one click; at which lines: three', async () => {
  const page = await newcomer();
  await page.getByRole('link', { name: /^Problems/ }).click();
  const circle = page.getByRole('region', { name: 'Deadlock' });
  await circle.getByText('3 tasks of the process').waitFor();
  await took(page, 1);
  const other = await newcomer();
  await row(other, known.knot).getByRole('link').click();
  await other.getByRole('link', { name: 'Await tree' }).click();
  const tree = other.getByRole('region', { name: 'Await tree' });
  await tree.getByText(/one|two|three/).first().waitFor();
  assert.match(await tree.textContent(), /dashboard_daemon\.cpp:\d+/);
  await took(other, 3);
});

test('why a task failed, and that from the step before it goes on: three clicks', async () => {
  const page = await newcomer();
  await row(page, known.failed).getByText('card 17 was refused').waitFor(); // none yet
  await row(page, known.failed).getByRole('link').click();
  await page.getByText('card 17 was refused').first().waitFor();
  await page.getByRole('button', { name: 'look#1' }).click();
  await page.getByRole('button', { name: 'retry from here' }).click();
  await page.getByRole('dialog').getByText('is forgotten and done again').waitFor();
  await took(page, 3);
});

test('a waiting patch is found, read and approved: three clicks', async () => {
  const page = await newcomer();
  await page.getByRole('link', { name: /^Approvals/ }).click();
  const inbox = page.getByRole('region', { name: 'Waiting' });
  await inbox.getByRole('button', { name: /^apply.*patch/ }).click();
  await page.getByRole('region', { name: 'Changes' }).getByText('return true').waitFor();
  await page.getByRole('button', { name: /^Approve/ }).click();
  const { result } = await daemon.get(`/tasks/${known.patch}/result?wait=20s`);
  assert.equal(result, 'applied');
  await took(page, 3);
});
