// Each action from the page of a task, and what each role may do.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Daemon, dashboard, openBrowser, openTab, until } from './support.mjs';

let daemon;
let browser;
before(async () => {
  daemon = await new Daemon('--plans', join(dashboard, 'test', 'plans')).start();
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
  await daemon.close();
});

const start = async (type, ...args) => (await daemon.post('/tasks', { type, arguments: args })).id;

test('pause, resume, cancel and kill of one task name it, keep the reason and show', async () => {
  const { task } = await daemon.waiting('verbs');
  const other = await daemon.waiting('other');
  const page = await openTab(browser, daemon, { hash: `#/task/${task}` });
  const act = async (id, verb, badge) => {
    await page.getByRole('button', { name: verb, exact: true }).click();
    const dialog = page.getByRole('dialog');
    const name = `${verb[0].toUpperCase()}${verb.slice(1)} order ${id.slice(0, 8)}`;
    await dialog.getByRole('heading', { name: `${name}?` }).waitFor();
    await dialog.getByLabel('Reason').fill(`why ${verb}`);
    await dialog.getByRole('button', { name }).click();
    await page.locator(`.title .badge.${badge}`).waitFor();
    const { lines } = await daemon.get('/audit?limit=1');
    assert.equal(lines[0].reason, `why ${verb}`);
  };
  await page.locator('.title .badge.running').waitFor();
  assert.ok(await page.getByRole('button', { name: 'resume', exact: true }).isDisabled());
  await act(task, 'pause', 'paused');
  assert.ok(await page.getByRole('button', { name: 'pause', exact: true }).isDisabled());
  await act(task, 'resume', 'running');
  await act(task, 'cancel', 'cancelled');
  for (const verb of ['pause', 'resume', 'cancel', 'kill', 'signal'])
    assert.ok(await page.getByRole('button', { name: verb, exact: true }).isDisabled(), verb);
  await page.goto(`${daemon.origin}/#/task/${other.task}`);
  await act(other.task, 'kill', 'cancelled');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('what the daemon refuses is said in the dialog, which stays', async () => {
  const { task } = await daemon.waiting('refused');
  const page = await openTab(browser, daemon, { hash: `#/task/${task}` });
  await page.getByRole('button', { name: 'signal', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('note');
  await dialog.getByLabel('Value').fill('no json');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.getByRole('alert').getByText('This is no JSON').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await daemon.post(`/tasks/${task}/kill`);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a diff is downloaded as it is', async () => {
  const id = await start('patch');
  const page = await openTab(browser, daemon, { hash: `#/task/${id}` });
  await page.getByRole('link', { name: 'decide' }).click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download diff' }).click(),
  ]);
  assert.equal(file.suggestedFilename(), `${id}.diff`);
  assert.match(readFileSync(await file.path(), 'utf8'), /^--- a\/model\.cpp\n\+\+\+ b\/model\.cpp/);
  await daemon.post(`/tasks/${id}/kill`);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('the line of the command is in the clipboard, and is that of what is shown', async () => {
  const { task } = await daemon.waiting('copied');
  const page = await openTab(browser, daemon, {
    hash: `#/task/${task}`,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  await page.getByRole('button', { name: 'Copy as command' }).first().click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(text, `tiffany show ${task}`);
  await daemon.post(`/tasks/${task}/kill`);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('the history finds failures and texts of its page', async () => {
  const id = await start('flaky');
  await daemon.get(`/tasks/${id}/result?wait=20s`);
  const { records } = await daemon.get(`/tasks/${id}/records`);
  const failed = records.filter((each) => each.error !== undefined).length;
  const page = await openTab(browser, daemon, { hash: `#/task/${id}/history` });
  const rows = page.locator('.records tbody tr');
  await until(async () => (await rows.count()) === records.length, 'all records');
  await page.getByLabel('failures on this page').check();
  await until(async () => (await rows.count()) === failed, `${failed} failures`);
  await page.getByLabel('failures on this page').uncheck();
  await page.getByLabel('Text in the records of this page').fill('answered');
  const found = records.filter((each) => JSON.stringify(each).includes('answered')).length;
  assert.ok(found > 0);
  await until(async () => (await rows.count()) === found, `${found} with the text`);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a stall is told in its words', async () => {
  const page = await openTab(browser, daemon, { token: await daemon.newToken('p', 'viewer') });
  await page.route('**/api/v1/problems', (route) =>
    route.fulfill({
      json: { problems: [{ kind: 'stall', tid: 88, text: 'task #88 ran 412 ms at parse.cpp:66' }] },
    }),
  );
  await page.goto(`${daemon.origin}/#/problems`);
  await page.reload();
  await page.getByText('task #88 ran 412 ms at parse.cpp:66').waitFor();
  await page.locator('.badge.failed', { hasText: 'stall' }).waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

// What each role is offered, by the address of the view.
const offered = {
  '#/task/TASK': ['pause', 'cancel', 'kill', 'signal'],
  '#/approvals?promise=PROMISE': ['Approve a', 'Reject r'],
  '#/plans/release': ['Run release', 'Schedule'],
  '#/timeline': ['Record 2 s'],
  '#/schedules': ['New schedule'],
  '#/start/survey': ['Start survey'],
};

test('a viewer is offered no action, an operator each; tokens are for admins', async () => {
  const { task, promise } = await daemon.waiting('roles');
  const done = await start('refused', 3);
  await daemon.get(`/tasks/${done}/result?wait=20s`);
  for (const role of ['viewer', 'operator']) {
    const token = await daemon.newToken(`all-${role}`, role);
    const page = await openTab(browser, daemon, { token });
    for (const [hash, names] of Object.entries(offered)) {
      const to = hash.replace('TASK', task).replace('PROMISE', promise);
      await page.goto(`${daemon.origin}/${to}`);
      if (hash.includes('approvals')) await page.getByText('asked at').waitFor();
      for (const name of names) {
        const button = page.getByRole('button', { name, exact: true });
        await button.waitFor();
        const disabled = await button.isDisabled();
        assert.equal(disabled, role === 'viewer', `${role}: ${name} of ${hash}`);
      }
    }
    await page.goto(`${daemon.origin}/#/task/${done}`);
    await page.getByRole('button', { name: 'look#1' }).click();
    for (const name of ['retry from here', 'fork from here'])
      assert.equal(await page.getByRole('button', { name }).isDisabled(), role === 'viewer', name);
    await page.goto(`${daemon.origin}/#/settings`);
    await page.getByText('are for admins').waitFor();
    assert.equal(await page.getByRole('button', { name: 'New token' }).count(), 0);
    await page.context().close();
    assert.deepEqual(page.complaints, []);
    // The daemon is who decides.
    const refused = await daemon.ask('POST', '/api/v1/tokens', { name: 'x', role }, token);
    assert.equal(refused.status, 403);
    const kill = await daemon.ask('POST', `/api/v1/tasks/${task}/kill`, {}, token);
    assert.equal(kill.status, role === 'viewer' ? 403 : 200);
  }
});

test('an admin changes the levels of the log, and the audit says who did what', async () => {
  const page = await openTab(browser, daemon, { hash: '#/settings' });
  await page.getByRole('button', { name: 'Levels of the log' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Such as').fill('nonsense=loud');
  await dialog.getByRole('button', { name: 'Set levels' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('Such as').fill('warn,serve=error');
  await dialog.getByRole('button', { name: 'Set levels' }).click();
  await page.getByText('Levels are warn,serve=error until').waitFor();
  const audit = page.getByRole('region', { name: 'Audit' });
  await audit.getByRole('row', { name: /levels/ }).first().waitFor();
  assert.match(await page.getByRole('region', { name: 'Settings' }).last().textContent(), /drain/);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});
