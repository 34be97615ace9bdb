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
    await until(async () => (await page.locator('tr[data-task]').count()) === 1, 'one row');
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
  await daemon.waiting('before it');
  const { task } = await daemon.waiting(evil, 5000, { key: evil, attributes: { name: evil } });
  await rowOf(page, task).getByText(evil).waitFor();
  for (const part of ['', '/history', '/graph', '/replay']) {
    await page.goto(`${daemon.origin}/#/task/${task}${part}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
  }
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('link', { name: 'decide' }).click();
  await page
    .getByRole('region', { name: 'What is asked' })
    .getByText('onerror')
    .first()
    .waitFor();
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  await daemon.post(`/tasks/${task}/kill`);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

const fill = async (count) => {
  const starts = Array.from({ length: count }, (_, i) => i);
  const one = async () => {
    for (let i = starts.pop(); i !== undefined; i = starts.pop())
      await daemon.order(`m${i}`, 9000);
  };
  await Promise.all(Array.from({ length: 16 }, one));
};

test('a thousand tasks: below 200 rows in the page wherever it is scrolled to', async () => {
  await fill(1000);
  const page = await openTab(browser, daemon);
  const table = page.getByRole('region', { name: 'Table of tasks' });
  await rowOf(page, (await daemon.get('/tasks?limit=1&order=newest')).tasks[0].id).waitFor();
  const all = [];
  for (let after = ''; after !== undefined;) {
    const more = after ? `&after=${encodeURIComponent(after)}` : '';
    const answer = await daemon.get(`/tasks?limit=500&order=newest${more}`);
    all.push(...answer.tasks.map((task) => task.id));
    after = answer.next;
  }
  // Down to the last one, which is the first that was started, a window at a time, in the page
  // itself: rows that are still asked for are waited for.
  const { seen, most } = await table.evaluate(async (box, last) => {
    const found = new Set();
    let rows = 0;
    while (!found.has(last)) {
      await new Promise((done) => requestAnimationFrame(done));
      rows = Math.max(rows, document.querySelectorAll('tr').length);
      if (box.querySelector('tbody tr:not(.space, [data-task])')) continue;
      for (const row of box.querySelectorAll('tr[data-task]')) found.add(row.dataset.task);
      box.scrollBy(0, box.clientHeight);
    }
    return { seen: found.size, most: rows };
  }, all.at(-1));
  assert.ok(most < 200, `${most} rows`);
  assert.equal(seen, all.length, 'every task was a row');
  await page.getByRole('button', { name: 'To the top' }).click();
  await rowOf(page, all[0]).waitFor();
  await page.getByRole('button', { name: /^Began/ }).click();
  await rowOf(page, all.at(-1)).waitFor();
  assert.match(page.url(), /order=oldest/);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('rows stand still where somebody reads, and j goes beyond a page', async () => {
  const page = await openTab(browser, daemon);
  const table = page.getByRole('region', { name: 'Table of tasks' });
  await page.locator('tr[data-task]').first().waitFor();
  for (let i = 0; i < 130; i += 1) await page.locator('body').press('j');
  await page.locator('tr.at[data-task]').waitFor();
  const top = await table.evaluate((box) => box.scrollTop);
  assert.ok(top > 2000, `scrolled to ${top}`);
  const at = await page.locator('tr.at').getAttribute('data-task');
  const ids = (await daemon.get('/tasks?limit=200&order=newest')).tasks.map((task) => task.id);
  assert.equal(ids[129], at);
  const came = await daemon.order('late', 5000);
  await until(
    async () => (await page.locator('.count').first().textContent()).length > 0,
    'the counts',
  );
  assert.equal(await page.locator('tr.at').getAttribute('data-task'), at);
  await page.getByRole('button', { name: 'To the top' }).click();
  await rowOf(page, came).waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('what is selected stays selected out of sight, and each target is named', async () => {
  const page = await openTab(browser, daemon);
  const table = page.getByRole('region', { name: 'Table of tasks' });
  const [first] = (await daemon.get('/tasks?limit=1&order=newest')).tasks;
  await rowOf(page, first.id).getByRole('checkbox').check();
  await table.evaluate((box) => box.scrollTo(0, 2500));
  await rowOf(page, first.id).waitFor({ state: 'detached' });
  const other = page.locator('tr[data-task]', { hasText: 'running' }).nth(20);
  const id = await other.getAttribute('data-task');
  await rowOf(page, id).getByRole('checkbox').check();
  await page.getByRole('button', { name: 'kill 2' }).click();
  const targets = page.getByRole('dialog').getByRole('listitem');
  assert.deepEqual(
    (await targets.allTextContents()).sort(),
    [first.id, id].map((each) => `order ${each.slice(0, 8)}`).sort(),
  );
  await page.getByRole('dialog').getByRole('button', { name: 'Kill 2 tasks' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  for (const each of [first.id, id])
    assert.equal((await daemon.get(`/tasks/${each}`)).status, 'cancelled');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});
