// The view of all tasks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon, openBrowser, openTab, until } from './support.mjs';

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

const rowOf = (page, id) => page.locator(`tr[data-task="${id}"]`);

test('a newcomer is told how to start a task, and starts one with a form', async () => {
  const page = await openTab(browser, daemon);
  await page.getByText('No tasks yet').waitFor();
  await page.getByRole('link', { name: 'Start one' }).click();
  await page.getByLabel('id', { exact: true }).fill('form');
  await page.getByLabel('amount').fill('5000');
  const command = page.getByRole('button', { name: 'Copy as command' });
  const title = await command.getAttribute('title');
  assert.match(title, /tiffany start order --arguments '\[\{"id":"form","amount":5000\}\]'/);
  await page.getByRole('button', { name: 'Start order' }).click();
  await page.getByText('Waits for', { exact: true }).waitFor();
  const { tasks } = await daemon.get('/tasks');
  assert.equal(tasks.length, 1);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a task that comes to be is shown without a reload, and so is its end', async () => {
  const page = await openTab(browser, daemon);
  const id = await daemon.order('live', 5000);
  await rowOf(page, id).locator('.badge.running').waitFor();
  await daemon.post(`/tasks/${id}/kill`, { reason: 'test' });
  await rowOf(page, id).locator('.badge.cancelled').waitFor();
  const shown = await page.locator('.count.cancelled b').textContent();
  const { counts } = await daemon.get('/info');
  assert.equal(Number(shown), counts.cancelled);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('pause, resume and cancel name their targets and change the rows', async () => {
  const page = await openTab(browser, daemon);
  const one = await daemon.waiting('v1');
  const two = await daemon.waiting('v2');
  for (const { task } of [one, two]) await rowOf(page, task).getByRole('checkbox').check();
  for (const [verb, status] of [
    ['pause', 'paused'],
    ['resume', 'running'],
    ['cancel', 'cancelled'],
  ]) {
    await page.getByRole('button', { name: `${verb} 2` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(one.task.slice(0, 8)).waitFor();
    await dialog.getByLabel('Reason').fill('a test');
    await dialog.getByRole('button', { name: '2 tasks' }).click();
    for (const { task } of [one, two])
      await rowOf(page, task).locator(`.badge.${status}`).waitFor();
    await dialog.waitFor({ state: 'hidden' });
  }
  const { lines } = await daemon.get('/audit?limit=2');
  assert.deepEqual(
    lines.map((line) => line.reason),
    ['a test', 'a test'],
  );
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('the filter is the server’s: by status, type, key and attribute', async () => {
  const page = await openTab(browser, daemon);
  const { task } = await daemon.waiting('f1', 5000, { key: 'ada', attributes: { vip: true } });
  for (const filter of ['key:ada', 'vip:true', 'type:order key:ada']) {
    await page.locator('#filter').fill(filter);
    await page.keyboard.press('Enter');
    await until(async () => (await page.locator('tbody tr').count()) === 1, 'one row');
    assert.equal(await rowOf(page, task).count(), 1, filter);
  }
  assert.match(page.url(), /type=order&key=ada/, 'a filter is a link');
  await page.getByRole('button', { name: 'Save filter' }).click();
  await page.locator('#filter').fill('type:none');
  await page.keyboard.press('Enter');
  await page.getByText('No task fits the filter').waitFor();
  await page.locator('a.saved').click();
  await rowOf(page, task).waitFor();
  await page.locator('#filter').fill(task.slice(0, 8));
  await page.keyboard.press('Enter');
  await page.getByText('Waits for', { exact: true }).waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('text of users is shown as text', async () => {
  const evil = '<img src=x onerror="window.hurt=1">';
  const page = await openTab(browser, daemon);
  const { task } = await daemon.waiting(evil, 5000, { key: evil, attributes: { name: evil } });
  await rowOf(page, task).getByText(evil).waitFor();
  for (const part of ['', '/history', '/graph', '/replay']) {
    await page.goto(`${daemon.origin}/#/task/${task}${part}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
  }
  await page.goto(`${daemon.origin}/#/approvals`);
  await page.getByText('onerror').first().waitFor();
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  await daemon.post(`/tasks/${task}/kill`);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a thousand tasks: below 200 rows, and pages go there and back', async () => {
  const starts = Array.from({ length: 1000 }, (_, i) => i);
  const one = async () => {
    for (let i = starts.pop(); i !== undefined; i = starts.pop())
      await daemon.order(`m${i}`, 9000);
  };
  await Promise.all(Array.from({ length: 16 }, one));
  const page = await openTab(browser, daemon);
  await page.locator('tbody tr').nth(99).waitFor();
  assert.ok((await page.locator('tr').count()) < 200);
  const first = await page.locator('tbody tr').first().getAttribute('data-task');
  const seen = new Set();
  for (let i = 0; i < 5; i += 1) {
    const ids = await page
      .locator('tbody tr')
      .evaluateAll((rows) => rows.map((row) => row.dataset.task));
    for (const id of ids) {
      assert.ok(!seen.has(id), 'a task is on one page only');
      seen.add(id);
    }
    await page.getByRole('button', { name: 'Older' }).click();
    await until(async () => {
      const now = await page
        .locator('tbody tr')
        .first()
        .getAttribute('data-task')
        .catch(() => null);
      return now && now !== ids[0];
    }, 'the next page');
  }
  for (let i = 0; i < 5; i += 1) await page.getByRole('button', { name: 'Newer' }).click();
  await until(
    async () => (await page.locator('tbody tr').first().getAttribute('data-task')) === first,
    'the first page',
  );
  const began = Date.now();
  await page.reload();
  await page.locator('tbody tr').nth(99).waitFor();
  console.log(
    `with ${seen.size * 2} tasks the table is there ${Date.now() - began} ms after a reload`,
  );
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});
