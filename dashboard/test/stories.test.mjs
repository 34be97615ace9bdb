// Tasks that fail, try again, have children and long histories.
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

const start = async (type, ...args) => (await daemon.post('/tasks', { type, arguments: args })).id;
const ends = (id) => daemon.get(`/tasks/${id}/result?wait=20s`);

test('failures are grouped by their cause, and counted in the header', async () => {
  for (const card of [17, 4711, 5]) await ends(await start('refused', card));
  const page = await openTab(browser, daemon, { hash: '#/problems' });
  await page.getByRole('heading', { name: /3 × .*card # was refused/ }).waitFor();
  await page.getByRole('link', { name: 'Problems 3' }).waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a step that was tried again has its attempts', async () => {
  const id = await start('flaky');
  assert.equal((await ends(id)).result, 'answered');
  const page = await openTab(browser, daemon, { hash: `#/task/${id}` });
  await page.getByRole('button', { name: 'ring#1' }).click();
  await page.getByText('attempt 3:').waitFor();
  await until(
    async () => (await page.locator('canvas').getAttribute('data-bars')) === '3',
    'a bar for each attempt',
  );
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a failed task is retried from a step with a click', async () => {
  const id = await start('refused', 9);
  await ends(id);
  const page = await openTab(browser, daemon, { hash: `#/task/${id}` });
  await page.locator('.title .badge.failed').waitFor();
  await page.getByRole('button', { name: 'look#1' }).click();
  await page.getByRole('button', { name: 'retry from here' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Retry from look#1' }).click();
  await until(async () => {
    const { records } = await daemon.get(`/tasks/${id}/records`);
    return records.filter((each) => each.type === 'TaskAbort').length === 2;
  }, 'the second failure');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('the graph has the children, and the way that a failure takes', async () => {
  const id = await start('convoy', 3);
  await until(async () => {
    const { tasks } = await daemon.get(`/tasks?parent=${id}`);
    return tasks.length === 4 && tasks.some((each) => each.status === 'failed');
  }, 'four children, one of which failed');
  const page = await openTab(browser, daemon, { hash: `#/task/${id}/graph` });
  await until(async () => (await page.locator('svg rect').count()) === 5, 'five nodes');
  assert.equal(await page.locator('path.edge.failed').count(), 1);
  await page.getByRole('link', { name: /^parcel .* failed$/ }).click();
  await page.locator('.title .badge.failed').waitFor();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByText('parcel -1 burst').first().waitFor();
  await page.goto(`${daemon.origin}/#/task/${id}`);
  await page.locator('.card', { hasText: 'Children' }).getByText('parcel').first().waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a promise of a text is kept with a text, and refused when it is none', async () => {
  const id = await start('survey');
  const page = await openTab(browser, daemon, { hash: '#/approvals' });
  await page.getByLabel(/Value to go on with/).fill('green');
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('alert').getByText('This is no JSON').waitFor();
  await page.getByLabel(/Value to go on with/).fill('"green"');
  await page.getByRole('button', { name: 'Approve' }).click();
  assert.equal((await ends(id)).result, 'green');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a signal is sent from the page', async () => {
  const id = await start('listener');
  const page = await openTab(browser, daemon, { hash: `#/task/${id}` });
  await page.getByRole('button', { name: 'send note' }).click();
  await page.getByRole('dialog').getByLabel('Value').fill('"hello"');
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
  assert.equal((await ends(id)).result, 'heard hello');
  await page.getByText('"heard hello"').first().waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('20 000 records: the newest first, any of them in two keys, flat memory', async () => {
  const id = await start('chatty', 20_000);
  await until(
    async () => ((await daemon.get(`/tasks/${id}`)).records ?? 0) >= 20_000,
    'the records',
  );
  const page = await openTab(browser, daemon, { hash: `#/task/${id}/history` });
  await page.getByText(/to 2000\d of 2000\d/).waitFor();
  assert.ok((await page.locator('tr').count()) < 200);
  await page.getByLabel('go to record').fill('7000');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Raw record 7000' }).waitFor();
  const heap = () => page.evaluate(() => performance.memory.usedJSHeapSize);
  const before = await heap();
  for (let i = 0; i < 30; i += 1) await page.getByRole('button', { name: 'Later' }).click();
  await page.getByRole('button', { name: 'First' }).click();
  await page.getByRole('button', { name: 'Raw record 1', exact: true }).waitFor();
  const grown = ((await heap()) - before) / 1e6;
  assert.ok(grown < 50, `${grown} MB more`);
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByText('are not shown here').waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a type whose name is a tag is shown as text everywhere', async () => {
  const name = '<img src=x onerror=alert(1)>';
  const id = await start(name);
  const page = await openTab(browser, daemon);
  page.on('dialog', () => page.complaints.push('the name was run'));
  for (const hash of ['#/tasks', `#/task/${id}`, `#/task/${id}/graph`, '#/approvals', '#/start']) {
    await page.goto(`${daemon.origin}/${hash}`);
    await page.getByText(name).first().waitFor();
  }
  await page.keyboard.press('Control+k');
  await page.keyboard.type('onerror');
  await page.getByRole('option', { name }).first().waitFor();
  assert.equal(await page.locator('img').count(), 0);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});
