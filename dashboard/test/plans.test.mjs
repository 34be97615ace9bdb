// Plans: the library, a run with a form, its graph as it stands, and what its commands wrote.
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

const run = async (name, params = {}) => (await daemon.post(`/plans/${name}/run`, { params })).id;
const step = (page, name, state) =>
  page.locator(`[data-step="${name}"]${state ? `[data-state="${state}"]` : ''}`);

test('a plan is run with a form, approved, and followed to its end', async () => {
  const page = await openTab(browser, daemon, { hash: '#/plans/release' });
  await page.getByText('Builds, tests and ships a version').first().waitFor();
  assert.equal(await page.locator('[data-step]').count(), 6, 'the graph');
  await page.getByLabel('version').fill('2.0');
  await page.getByLabel('place').selectOption('production');
  await page.getByLabel('loud').check();
  const copy = page
    .getByRole('form', { name: 'Run' })
    .getByRole('button', { name: 'Copy as command' });
  assert.equal(
    await copy.getAttribute('title'),
    'Copy: tiffany run release -p version=2.0 -p place=production -p copies=2 -p loud=true',
  );
  await page.getByRole('button', { name: 'Run release' }).click();
  await step(page, 'ok', 'awaiting approval').waitFor();
  await step(page, 'test', 'done').waitFor();
  await step(page, 'test').getByText('done 2/2').waitFor();
  await step(page, 'build').click();
  await page.getByRole('region', { name: 'Output of build' }).getByText('building 2.0').waitFor();
  await page.getByRole('button', { name: 'errors' }).click();
  await page.getByRole('region', { name: 'Output of build' }).getByText('careful').waitFor();
  await page.getByRole('link', { name: 'decide' }).click();
  await page
    .getByRole('region', { name: 'Question' })
    .getByText('Ship 2.0 to production?')
    .waitFor();
  const { units } = await daemon.get(`/tasks/${(await daemon.get('/tasks')).tasks[0].id}/plan`);
  const { digest } = units.find((unit) => unit.name === 'ok');
  assert.equal(await page.locator('.digest').getAttribute('title'), digest);
  let sent;
  page.on('request', (request) => {
    if (request.url().endsWith('/decide')) sent = request.postDataJSON();
  });
  await page.getByLabel('Comment').fill('go');
  await page.getByRole('button', { name: 'Approve a' }).click();
  await until(() => sent, 'the decision');
  assert.deepEqual(sent, { unit: 'ok', approved: true, digest, note: 'go' });
  await page.goto(`${daemon.origin}/#/plans/release`);
  await page.getByRole('region', { name: 'Runs' }).locator('.badge.completed').waitFor();
  await page.getByRole('region', { name: 'Runs' }).locator('a.mono').first().click();
  await step(page, 'tidy', 'done').waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a run that failed shows where, what was written there, and what did not run', async () => {
  const id = await run('broken');
  await daemon.get(`/tasks/${id}/result?wait=20s`);
  const page = await openTab(browser, daemon, { hash: `#/task/${id}/plan` });
  await step(page, 'bad', 'failed').waitFor();
  assert.equal(await step(page, 'fine', 'done').count(), 1);
  assert.equal(await step(page, 'after', 'skipped').count(), 1);
  assert.equal(await step(page, 'tell', 'done').count(), 1);
  assert.equal(await page.locator('path.edge.failed').count(), 1);
  await step(page, 'bad').press('Enter');
  await page.getByRole('region', { name: 'Output of bad' }).getByText('before').waitFor();
  await page.getByRole('row', { name: /^bad/ }).getByText('exit code 3').waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('what the steps of a run left is listed with its size and downloaded', async () => {
  const evil = '<b>bold.txt';
  const text = `name: keeps
directory: ${daemon.data}
steps:
  - name: make
    shell: true
    run: "head -c 2500 /dev/zero > 'a b.bin'; printf hello > '${evil}'"
    artifacts: ["*.bin", "*.txt"]
  - name: each
    needs: [make]
    foreach: [x, y]
    shell: true
    env: {ITEM: "\${{ item }}"}
    run: "printf $ITEM > same.log"
    locks: [same]
    artifacts: [same.log]
`;
  const { id } = await daemon.post('/plans/run', { text });
  await daemon.get(`/tasks/${id}/result?wait=20s`);
  const page = await openTab(browser, daemon, { hash: `#/task/${id}/plan` });
  const kept = page.getByRole('region', { name: 'Artifacts' });
  await kept.getByRole('row', { name: /a b\.bin/ }).waitFor();
  assert.equal(await kept.locator('tbody tr').count(), 4);
  assert.match(await kept.getByRole('row', { name: /a b\.bin/ }).textContent(), /make.*2\.5 KB/);
  const fetched = async (row) => {
    const button = kept.getByRole('row', { name: row }).getByRole('button', { name: /^Download/ });
    const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
    return [file.suggestedFilename(), readFileSync(await file.path(), 'utf8')];
  };
  const [name, bytes] = await fetched(/a b\.bin/);
  assert.deepEqual([name, bytes.length], ['a b.bin', 2500]);
  assert.equal((await fetched(/bold/))[1], 'hello');
  assert.equal(await kept.locator('b').count(), 0, 'names of files are text');
  // The same name, of another item of a foreach.
  assert.equal((await fetched(/each\[1\]/))[1], 'y');
  await page.getByRole('row', { name: /^make/ }).getByRole('button').click();
  await kept.getByText('each[0]').waitFor({ state: 'detached' });
  assert.equal(await kept.locator('tbody tr').count(), 2, 'those of the chosen step');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('mistakes of a plan are shown with line and column, and the plan cannot be run', async () => {
  const page = await openTab(browser, daemon, { hash: '#/plans/typo' });
  await page.getByText(/line 3, column \d+: .*Did you mean "needs"/).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Run typo' }).count(), 0);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a plan with a schedule is scheduled, and its next run is shown', async () => {
  const page = await openTab(browser, daemon, { hash: '#/plans/release' });
  await page.getByText('not scheduled yet').waitFor();
  await page.getByRole('button', { name: 'Schedule', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('30 2 * * *').waitFor();
  await dialog.getByRole('button', { name: 'Schedule release' }).click();
  await page.getByText('next run').waitFor();
  const { schedules } = await daemon.get('/schedules');
  assert.equal(schedules[0].name, 'release');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a question that changed meanwhile is not answered', async () => {
  const id = await run('release');
  const page = await openTab(browser, daemon, { hash: `#/task/${id}/plan` });
  await page.getByRole('link', { name: 'decide' }).click();
  await page.getByRole('region', { name: 'Question' }).waitFor();
  await page.getByText('asked at').waitFor();
  await page.route('**/decide', async (route) => {
    const body = { ...route.request().postDataJSON(), digest: 'another' };
    await route.continue({ postData: JSON.stringify(body) });
  });
  await page.locator('body').press('a');
  await page.getByRole('alert').getByText('look again').waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('the palette runs a plan; a viewer cannot', async () => {
  const token = await daemon.newToken('looks', 'viewer');
  const page = await openTab(browser, daemon, { token });
  await page.keyboard.press('Control+k');
  await page.keyboard.type('plan release');
  await page.getByRole('option', { name: 'Run the plan release' }).waitFor();
  await page.keyboard.press('Enter');
  assert.ok(await page.getByRole('button', { name: 'Run release' }).isDisabled());
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});
