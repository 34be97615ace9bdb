// The view of one task.
import assert from 'node:assert/strict';
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

test('why a task is stuck, at which line, and what it did before: one click', async () => {
  const { task } = await daemon.waiting('stuck');
  const page = await openTab(browser, daemon);
  await page.locator(`tr[data-task="${task}"] a`).click();
  const waits = page.locator('.card', { hasText: 'Waits for' }).first();
  await waits.getByText('promise approval#1').waitFor();
  assert.match(await waits.textContent(), /at \w+\.cpp:\d+/);
  const row = page.getByRole('row', { name: /charge#1/ });
  assert.match(await row.textContent(), /step.*done.*\w+\.cpp:\d+.*payment-stuck/);
  await page.getByRole('button', { name: 'stage?' }).click();
  await page.getByText('"waiting for approval"').waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('the timeline has a bar of the right colour for what was and what is', async () => {
  const { task } = await daemon.waiting('bars');
  const page = await openTab(browser, daemon, { hash: `#/task/${task}` });
  const canvas = page.locator('.timeline canvas');
  await until(async () => (await canvas.getAttribute('data-bars')) === '2', 'two bars');
  // The right end of the second row is the promise, which is still open.
  await until(async () => (await coloursOf(page, ['step'])).step, 'the first frame');
  const seen = await coloursOf(page, ['step', 'promise', 'failed']);
  assert.deepEqual(seen, { step: true, promise: true, failed: false });
  await canvas.focus();
  await page.keyboard.press('+');
  await page.keyboard.press('ArrowRight');
  await canvas.click({ position: { x: 40, y: 32 } });
  await page.getByRole('button', { name: 'retry from here' }).waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('the history has every record, also raw, and new ones come by themselves', async () => {
  const { task, promise } = await daemon.waiting('history');
  const page = await openTab(browser, daemon, { hash: `#/task/${task}/history` });
  const rows = page.locator('.records tbody tr');
  await until(async () => (await rows.count()) === 4, 'four records');
  await page.getByRole('button', { name: 'Raw record 4' }).click();
  await page.getByText(`"promise": "${promise}"`).waitFor();
  await page.getByRole('button', { name: 'Raw record 4' }).click();
  await daemon.post(`/promises/${promise}`, { value: false });
  await until(async () => (await rows.count()) >= 6, 'the records of the end');
  await page.getByText('TaskExit').waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a task that has ended is replayed, forked and retried from a step', async () => {
  const { task, promise } = await daemon.waiting('again');
  await daemon.post(`/promises/${promise}`, { value: false });
  await daemon.get(`/tasks/${task}/result?wait=10s`);
  const page = await openTab(browser, daemon, { hash: `#/task/${task}/replay` });
  await page.locator('[data-agrees="true"]').waitFor();
  await page.getByRole('button', { name: 'step ▶' }).click();
  await page.locator('[data-cursor="1"]').waitFor();
  await page.keyboard.press('ArrowRight');
  await page.locator('[data-cursor="2"]').waitFor();
  // Faster than the page is drawn.
  const last = Number(/of (\d+)/.exec(await page.locator('[data-cursor]').textContent())[1]);
  await page.getByRole('button', { name: 'To the beginning' }).click();
  await page.locator('[data-cursor="0"]').waitFor();
  await page.evaluate((keys) => {
    for (let i = 0; i < keys; i += 1)
      dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
  }, last);
  await page.locator(`[data-cursor="${last}"]`).waitFor();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('button', { name: 'charge#1' }).click();
  await page.getByRole('button', { name: 'fork from here' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Fork at charge#1' }).click();
  await page.waitForURL((url) => !url.hash.includes(task));
  const fork = /task\/([0-9a-f-]{36})/.exec(page.url())[1];
  assert.equal((await daemon.get(`/tasks/${fork}`)).type, 'order');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('keys that come before the replay was drawn are not lost', async () => {
  const { task, promise } = await daemon.waiting('early');
  await daemon.post(`/promises/${promise}`, { value: false });
  await daemon.get(`/tasks/${task}/result?wait=10s`);
  const page = await openTab(browser, daemon, { hash: `#/task/${task}` });
  let answer;
  const held = new Promise((done) => (answer = done));
  await page.route('**/replay', async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole('link', { name: 'Replay' }).click();
  await page.getByText('The code runs along the log').waitFor();
  for (let i = 0; i < 2; i += 1) await page.locator('body').press('ArrowRight');
  answer();
  await page.locator('[data-cursor="2"]').waitFor();
  // More of them than there are events: the end, and one step back from there.
  const last = Number(/of (\d+)/.exec(await page.locator('[data-cursor]').textContent())[1]);
  await page.evaluate((keys) => {
    for (let i = 0; i < keys; i += 1)
      dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
  }, last + 5);
  await page.locator(`[data-cursor="${last}"]`).waitFor();
  await page.locator('body').press('ArrowLeft');
  await page.locator(`[data-cursor="${last - 1}"]`).waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a task that is not there is said, with a way back', async () => {
  const page = await openTab(browser, daemon, {
    hash: '#/task/12345678-1234-1234-1234-123456789012',
  });
  await page.getByText('There is no such task').waitFor();
  await page.getByRole('link', { name: 'All tasks' }).click();
  await page.getByRole('group', { name: 'Tasks by status' }).waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});
