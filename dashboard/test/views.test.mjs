// Every view, in both themes: no serious violation of WCAG AA, nothing in the console, no request
// to elsewhere. With TIFFANY_PICTURES=<directory>, a picture of each is left there.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { AgentDaemon, dashboard, openBrowser, openTab, until, violations } from './support.mjs';

let daemon;
let browser;
const known = {};
before(async () => {
  daemon = await new AgentDaemon('--plans', join(dashboard, 'test', 'plans')).start();
  browser = await openBrowser();
  await knowledge();
  for (let i = 0; i < 12; i += 1)
    await daemon.order(`a${i}`, 100 + i, { key: `customer-${i % 4}` });
  for (let i = 0; i < 3; i += 1)
    Object.assign(known, await daemon.waiting(`b${i}`, 2400 + i * 700));
  const paused = await daemon.waiting('held', 1500);
  await daemon.post(`/tasks/${paused.task}/pause`, { reason: 'the bank asked for it' });
  const gone = await daemon.waiting('gone', 1500);
  await daemon.post(`/tasks/${gone.task}/cancel`, { reason: 'the customer changed her mind' });
  await daemon.post('/schedules', {
    name: 'nightly',
    type: 'order',
    arguments: [{ id: 'night', amount: 5 }],
    cron: '0 3 * * *',
  });
  await daemon.newToken('screen-in-the-hall', 'viewer');
  const start = async (type, ...args) =>
    (await daemon.post('/tasks', { type, arguments: args })).id;
  for (const card of [17, 4711]) await start('refused', card);
  await start('flaky');
  known.family = await start('convoy', 3);
  await start('knot');
  const patch = await start('patch');
  known.run = (await daemon.post('/plans/release/run', { params: { version: '2.0' } })).id;
  const text = `name: package\ndirectory: ${daemon.data}\nsteps:
  - {name: make, shell: true, artifacts: ["*.tar", notes.txt],
     run: "head -c 81920 /dev/zero > app.tar; echo 'fewer copies' > notes.txt"}\n`;
  known.kept = (await daemon.post('/plans/run', { text })).id;
  await daemon.get(`/tasks/${known.kept}/result?wait=20s`);
  known.broken = (await daemon.post('/plans/broken/run')).id;
  await daemon.get(`/tasks/${known.broken}/result?wait=20s`);
  await until(async () => {
    const { waits } = await daemon.get(`/tasks/${patch}`);
    known.patch = waits.find((each) => each.kind === 'promise')?.id;
    return known.patch;
  }, 'the patch to be asked about');
  await until(async () => {
    const { units } = await daemon.get(`/tasks/${known.run}/plan`);
    return units.some((unit) => unit.state === 'awaiting approval');
  }, 'the question of the plan');
  const { tasks } = await daemon.get('/tasks?limit=1&type=order');
  known.done = tasks[0].id;
  await daemon.get(`/tasks/${known.done}/result?wait=20s`);
});
// Agents that note down, read skills, give work to another agent, and ask.
async function knowledge() {
  const call = (name, given) => ({ name, arguments: given });
  const { note } = await daemon.remember('The tests need a display.', { kind: 'fact' });
  const see = { see: [note], days: 30 };
  await daemon.remember('Xvfb is installed on the machine that builds.', { kind: 'fact', ...see });
  await daemon.remember('Ada looks at every patch of the model.', { kind: 'person', ...see });
  known.note = note;
  const read = (name) => call('skill', { name });
  await daemon.ended(await daemon.agent([[read('release'), read('review')], [read('release')]]));
  const recall = [[call('recall', { text: 'display' })]];
  const allowed = await daemon.agent(recall);
  const { digest } = await daemon.question(allowed);
  const answer = { approved: true, digest, scope: 'rule', note: 'reads only' };
  await daemon.post(`/tasks/${allowed}/decide`, answer);
  await daemon.ended(allowed);
  const script = JSON.stringify([
    { when: { contains: 'Count them' }, reply: { text: 'There are seven.' } },
    { reply: { calls: [call('delegate', { instruction: 'Count them.' })] } },
    { reply: { calls: [call('recall', { text: 'Xvfb' })] } },
  ]);
  known.agent = await daemon.agent([], { script, instruction: 'How many tests are there?' });
  known.call = (await daemon.question(known.agent)).promise;
}

after(async () => {
  await browser.close();
  await daemon.close();
});

// Where it is, and what is waited for.
const views = {
  tasks: ['#/tasks', 'Table of tasks'],
  task: ['#/task/DONE', 'Table of steps'],
  stuck: ['#/task/TASK', 'Table of steps'],
  history: ['#/task/DONE/history', 'Records'],
  await: ['#/task/TASK/await', 'Await tree'],
  graph: ['#/task/FAMILY/graph', 'Graph of tasks'],
  replay: ['#/task/DONE/replay', 'Events'],
  approvals: ['#/approvals?promise=PATCH', 'Changes'],
  problems: ['#/problems', 'Deadlock'],
  plans: ['#/plans/release', 'Runs'],
  run: ['#/task/RUN/plan', 'Table of units'],
  failed: ['#/task/BROKEN/plan', 'Table of units'],
  steps: ['#/steps', 'Heatmap'],
  kept: ['#/task/KEPT/plan', 'Table of artifacts'],
  scheduler: ['#/scheduler', 'Scheduler'],
  timeline: ['#/timeline', 'Timeline'],
  schedules: ['#/schedules', 'Schedules'],
  memory: ['#/memory', 'Memory'],
  note: ['#/memory/NOTE', 'Notes around it'],
  skills: ['#/skills', 'Table of skills'],
  rules: ['#/approvals?promise=CALL', 'Standing rules'],
  agent: ['#/task/AGENT/agent', 'Task'],
  start: ['#/start', 'Start a task'],
  settings: ['#/settings', 'Audit'],
};

const picture = async (page, name) => {
  const into = process.env.TIFFANY_PICTURES;
  if (into) await page.screenshot({ path: join(into, `${name}.png`) });
};
const addressOf = (hash) => hash.replace(/[A-Z]{3,}/, (word) => known[word.toLowerCase()]);

for (const colorScheme of ['light', 'dark']) {
  for (const [name, [hash, region]] of Object.entries(views)) {
    test(`${name}, ${colorScheme}`, async () => {
      const page = await openTab(browser, daemon, { colorScheme, hash: addressOf(hash) });
      if (name === 'timeline') {
        await page.getByLabel('seconds').selectOption('1');
        await page.getByRole('button', { name: 'Record 1 s' }).click();
        for (let i = 0; i < 3; i += 1) await daemon.order(`c${i}`, 10);
        await page.locator('.timeline canvas').waitFor();
        await page.getByLabel('Row').selectOption({ index: 1 });
      }
      await page.getByRole('region', { name: region }).first().waitFor();
      if (name === 'scheduler') await page.getByText('Slices').first().waitFor();
      assert.deepEqual(await violations(page), []);
      if (process.env.TIFFANY_PICTURES && name === 'scheduler') await page.waitForTimeout(8000);
      await picture(page, `${name}-${colorScheme}`);
      await page.context().close();
      assert.deepEqual(page.complaints, []);
    });
  }

  for (const name of ['note', 'skills', 'rules', 'agent']) {
    test(`${name} on a phone, ${colorScheme}`, async () => {
      const [hash, region] = views[name];
      const page = await openTab(browser, daemon, {
        colorScheme,
        hash: addressOf(hash),
        viewport: { width: 390, height: 844 },
        hasTouch: true,
        isMobile: true,
      });
      await page.getByRole('region', { name: region }).first().waitFor();
      if (name === 'rules') await page.getByText('asked at').waitFor();
      assert.deepEqual(await violations(page), []);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `nothing is wider than the screen: ${wide}`);
      await picture(page, `${name}-phone-${colorScheme}`);
      await page.context().close();
      assert.deepEqual(page.complaints, []);
    });
  }

  test(`approvals on a phone, ${colorScheme}`, async () => {
    const page = await openTab(browser, daemon, {
      colorScheme,
      hash: addressOf(views.approvals[0]),
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await page.getByRole('region', { name: 'Changes' }).waitFor();
    assert.deepEqual(await violations(page), []);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `nothing is wider than the screen: ${wide}`);
    await picture(page, `phone-${colorScheme}`);
    await page.context().close();
    assert.deepEqual(page.complaints, []);
  });
}

test('dialogs, the palette and the help have no violation either', async () => {
  const page = await openTab(browser, daemon, { hash: `#/task/${known.task}` });
  await page.getByRole('button', { name: 'cancel' }).click();
  await page
    .getByRole('dialog')
    .getByText(/Cancel order/)
    .first()
    .waitFor();
  assert.deepEqual(await violations(page), []);
  await picture(page, 'dialog');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.getByRole('option').first().waitFor();
  assert.deepEqual(await violations(page), []);
  await picture(page, 'palette');
  await page.keyboard.press('Escape');
  await page.locator('body').press('?');
  await page.getByRole('heading', { name: 'Keys' }).waitFor();
  assert.deepEqual(await violations(page), []);
  await picture(page, 'help');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('the palette reaches a task, a view and an action', async () => {
  const page = await openTab(browser, daemon);
  await page.keyboard.press('Control+k');
  await page.keyboard.type(known.task.slice(0, 8));
  await page
    .getByRole('option', { name: known.task.slice(0, 8) })
    .first()
    .waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('Waits for', { exact: true }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('pause this');
  await page.getByRole('option', { name: 'pause this task' }).waitFor();
  await page.keyboard.press('Enter');
  await page
    .getByRole('dialog')
    .getByText(/Pause order/)
    .first()
    .waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('sched');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Scheduler' }).waitFor();
  // A decision that waits, a signal to the task that is shown, and tasks by any filter.
  await page.keyboard.press('Control+k');
  await page.keyboard.type('decide apply');
  await page.getByRole('option', { name: /Decide apply#1 of patch/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Changes' }).waitFor();
  await page.goto(`${daemon.origin}/#/task/${known.task}`);
  await page.getByText('Waits for', { exact: true }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('signal');
  await page.getByRole('option', { name: 'send a signal to this task' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('Send a signal to order').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('key:customer-2');
  await page.getByRole('option', { name: 'Tasks that fit key:customer-2' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Table of tasks' }).waitFor();
  await until(async () => (await page.locator('tr[data-task]').count()) === 3, 'three tasks');
  assert.match(page.url(), /key=customer-2/);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a schedule is made, run and removed; a token is made, shown once and removed', async () => {
  const page = await openTab(browser, daemon, { hash: '#/schedules' });
  await page.getByRole('button', { name: 'New schedule' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('hourly');
  await dialog.getByLabel('Arguments').fill('[{"id":"h","amount":1}]');
  await dialog.getByLabel('or every').fill('1h');
  await dialog.getByRole('button', { name: 'Make the schedule' }).click();
  await page.getByRole('button', { name: 'run now hourly' }).click();
  await until(async () => {
    const { schedules } = await daemon.get('/schedules');
    return schedules.find((each) => each.name === 'hourly')?.runs === 1;
  }, 'the run');
  await page.getByRole('button', { name: 'remove hourly' }).click();
  await dialog.getByRole('button', { name: 'Remove the schedule hourly' }).click();
  await page.getByRole('button', { name: 'run now hourly' }).waitFor({ state: 'detached' });
  await page.goto(`${daemon.origin}/#/settings`);
  await page.getByRole('button', { name: 'New token' }).click();
  await dialog.getByLabel('Name').fill('ada');
  await dialog.getByRole('button', { name: 'Make the token' }).click();
  const made = await page.getByText('shown this once').locator('code').textContent();
  assert.equal((await daemon.ask('GET', '/api/v1/info', undefined, made)).json.role, 'viewer');
  await page.getByRole('button', { name: 'remove the token ada', exact: true }).click();
  await dialog.getByRole('button', { name: 'Remove the token ada' }).click();
  await until(
    async () => (await daemon.ask('GET', '/api/v1/info', undefined, made)).status === 401,
  );
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('an address that is no encoded text shows a page, too', async () => {
  const page = await openTab(browser, daemon);
  for (const address of ['#/task/%', '#/tasks?type=100%', '#/constructor', '#/memory/%']) {
    await page.evaluate((hash) => (location.hash = hash), address);
    await page.reload();
    await page.getByText('● live').waitFor();
  }
  await page.context().close();
});
