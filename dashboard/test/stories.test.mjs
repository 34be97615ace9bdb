// Tasks that fail, try again, have children and long histories.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
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
  await ends(await start('refused', 77777777)); // one more of the same
  await page.getByRole('heading', { name: /4 × / }).waitFor();
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
  await page.getByRole('link', { name: /parcel .* failed$/ }).click();
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

test('50 000 records: the newest first, any of them in two keys, flat memory', async () => {
  const id = await start('chatty', 50_000);
  await until(
    async () => ((await daemon.get(`/tasks/${id}`)).records ?? 0) >= 50_000,
    'the records',
  );
  const page = await openTab(browser, daemon, { hash: `#/task/${id}/history` });
  await page.getByText(/to 5000\d of 5000\d/).waitFor();
  assert.ok((await page.locator('tr').count()) < 200);
  await page.getByLabel('go to record').fill('37000');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Raw record 37000' }).waitFor();
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

test('a patch is shown side by side, on a phone one below the other', async () => {
  const id = await start('patch');
  const page = await openTab(browser, daemon, { hash: `#/task/${id}` });
  await page.getByRole('link', { name: 'decide' }).click();
  const changes = page.getByRole('region', { name: 'Changes' });
  const row = changes.getByRole('row').filter({ hasText: 'return true' });
  assert.match(await row.textContent(), /-bool validate\(\).*\+bool validate\(const Model& m\) {/);
  await page.getByText('1 file +3 −1').waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `nothing is wider than the screen: ${wide}`);
  const gone = await changes.getByText('return true').boundingBox();
  const came = await changes.getByText('const Model&').boundingBox();
  assert.ok(gone.width > 250 && gone.height < 60, `a line is readable: ${JSON.stringify(gone)}`);
  assert.equal(await changes.getByText('int x;').locator('visible=true').count(), 1);
  assert.ok(came.y >= gone.y + gone.height && came.x === gone.x, 'one below the other');
  await page.locator('body').press('a');
  assert.equal((await ends(id)).result, 'applied');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('three tasks that wait for each other are drawn as a circle, once', async () => {
  const id = await start('knot');
  const page = await openTab(browser, daemon, { hash: '#/problems' });
  const card = page.getByRole('region', { name: 'Deadlock' });
  await card.getByText('3 tasks of the process wait').waitFor();
  assert.equal(await card.count(), 1);
  // The mark in the header counts what is listed here: a circle is one.
  const cards = await page.locator('section[aria-label="Problems"] .card li, [aria-label=Deadlock]')
    .count();
  await page.getByRole('link', { name: `Problems ${cards}`, exact: true }).waitFor();
  const names = await card.locator('svg g text').allTextContents();
  assert.deepEqual(
    names.map((name) => /one|two|three/.exec(name)[0]).sort(),
    ['one', 'three', 'two'],
  );
  // The same from the task: what its code awaits, at which line.
  await page.goto(`${daemon.origin}/#/task/${id}/await`);
  const tree = page.getByRole('region', { name: 'Await tree' });
  await tree.getByText('knot').first().waitFor();
  assert.match(await tree.textContent(), /dashboard_daemon\.cpp/);
  await daemon.post(`/tasks/${id}/cancel`);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('the heatmap has a cell for each step, by time, attempts, failures and number', async () => {
  const own = await new Daemon().start(); // whose steps are counted
  for (const [type, ...args] of [['flaky'], ['refused', 3]]) {
    const { id } = await own.post('/tasks', { type, arguments: args });
    await own.get(`/tasks/${id}/result?wait=20s`);
  }
  const page = await openTab(browser, own, { hash: '#/steps' });
  const cell = (name) => page.getByRole('button', { name });
  await cell(/^ring /).waitFor();
  await page.getByRole('button', { name: 'attempts', exact: true }).click();
  await cell('ring 3.0').waitFor();
  assert.ok((await cell('ring 3.0').getAttribute('class')).includes('heat5'));
  await page.getByRole('button', { name: 'count', exact: true }).click();
  await cell('ring 1').click();
  const figures = page.getByRole('region', { name: 'Step', exact: true });
  assert.match(await figures.textContent(), /ring of flaky.*attempts3/);
  await page.getByLabel('type').selectOption('refused');
  await cell(/^ring /).waitFor({ state: 'detached' });
  await cell(/^look /).waitFor();
  assert.match(page.url(), /type=refused/);
  await page.context().close();
  await own.close();
  assert.deepEqual(page.complaints, []);
});

// The text of the file that a click downloads.
async function downloaded(page, button) {
  const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
}

test('the log and the trace of a task are downloaded', async () => {
  const id = await start('flaky');
  await ends(id);
  const page = await openTab(browser, daemon, { hash: `#/task/${id}` });
  await page.getByRole('button', { name: 'ring#1' }).waitFor();
  const log = await downloaded(page, page.getByRole('button', { name: 'Download log' }));
  const lines = log.text.trim().split('\n').map(JSON.parse);
  assert.equal(log.name, `${id}.jsonl`);
  assert.deepEqual([lines[0].type, lines.at(-1).type], ['Spawn', 'TaskExit']);
  const trace = await downloaded(page, page.getByRole('button', { name: 'Download trace' }));
  const bars = JSON.parse(trace.text).traceEvents.filter((event) => event.ph === 'X');
  assert.deepEqual(
    bars.map((bar) => bar.name),
    ['flaky', 'attempt 1', 'attempt 2', 'attempt 3'],
  );
  assert.ok(bars.every((bar) => bar.dur >= 0 && bar.ts > 1e15));
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('code that was changed is found out: the first divergence is marked', async () => {
  const changed = await new Daemon().start();
  const { id } = await changed.post('/tasks', {
    type: 'order',
    arguments: [{ id: 'old', amount: 5 }],
  });
  await changed.get(`/tasks/${id}/result?wait=20s`);
  await changed.end('SIGTERM');
  await changed.start({ TIFFANY_TEST_TWIST: '1' });
  const page = await openTab(browser, changed, { hash: `#/task/${id}/replay` });
  await page.locator('[data-agrees="false"]').getByText('bill').waitFor();
  await page.getByText('first divergence').waitFor();
  await page.context().close();
  await changed.close();
  assert.deepEqual(page.complaints, []);
});
