// What agents know and may do: notes, skills, rules, the agents that an agent started.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { AgentDaemon, Daemon, openBrowser, openTab, violations } from './support.mjs';

let daemon;
let browser;
before(async () => {
  daemon = await new AgentDaemon().start();
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
  await daemon.close();
});

const recall = (text) => [[{ name: 'recall', arguments: { text } }]];
const evil = 'The tests need a display. <img src=x onerror="window.hurt=1">';

test('notes are found by words, have their origins, and an operator forgets them', async () => {
  const { task, note } = await daemon.remember(evil, { kind: 'fact', days: 3 });
  await daemon.remember('Releases are made on Mondays.', { kind: 'habit' });
  const token = await daemon.newToken('reader', 'viewer');
  const page = await openTab(browser, daemon, { token });
  await page.locator('body').press('g');
  await page.keyboard.press('m');
  const list = page.getByRole('list', { name: 'Notes' });
  await list.getByText('Releases are made').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('why display');
  await page.keyboard.press('Enter');
  await list.getByText('Releases are made').waitFor({ state: 'detached' });
  await list.getByText('The tests need a display.').waitFor();
  assert.equal(await page.locator('img').count(), 0, 'text of agents is text');
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  await list.getByText('in 2d 23h').waitFor();
  const origin = list.getByRole('link', { name: task.slice(0, 8) });
  assert.equal(await origin.getAttribute('href'), `#/task/${task}`);
  assert.ok(await page.getByRole('button', { name: `forget ${note.slice(0, 8)}` }).isDisabled());
  await page.context().close();
  assert.deepEqual(page.complaints, []);

  const operator = await openTab(browser, daemon, {
    token: await daemon.newToken('clerk', 'operator'),
    hash: '#/memory?kind=fact',
  });
  await operator.getByRole('button', { name: `forget ${note.slice(0, 8)}` }).click();
  const dialog = operator.getByRole('dialog');
  await dialog.getByText('The tests need a display.').waitFor();
  await dialog.getByRole('button', { name: 'Back' }).click();
  assert.equal((await daemon.get('/memory?kind=fact')).notes.length, 1, 'asked first');
  await operator.getByRole('button', { name: `forget ${note.slice(0, 8)}` }).click();
  await dialog.getByRole('button', { name: `Forget the note ${note.slice(0, 8)}` }).click();
  await operator.getByText('No note fits').waitFor();
  await operator.getByRole('button', { name: 'fact ×' }).click();
  await operator.getByText('Releases are made').waitFor();
  await operator.getByLabel('Words').fill('x'.repeat(70_000));
  await operator.keyboard.press('Enter');
  await operator.getByRole('alert').waitFor();
  await operator.getByLabel('Words').fill('mondays');
  await operator.keyboard.press('Enter');
  await operator.getByText('Releases are made').waitFor();
  const { lines } = await daemon.get('/audit?limit=5');
  assert.ok(
    lines.some((each) => each.actor === 'token:clerk' && each.target === note),
    JSON.stringify(lines),
  );
  await operator.context().close();
  assert.deepEqual(operator.complaints, []);
});

test('a note is drawn with those that it is connected with', async () => {
  const { note } = await daemon.remember('The compiler is GCC 12.');
  await daemon.remember('No lambda is a coroutine here.', { see: [note] });
  await daemon.remember('\u{1f600}'.repeat(60), { kind: '<b>', see: [note] });
  const page = await openTab(browser, daemon, { hash: '#/memory?query=lambda' });
  await page.getByRole('link', { name: /1 connected/ }).click();
  const graph = page.getByRole('region', { name: 'Notes around it' });
  await graph.getByText('→').waitFor();
  await graph.getByRole('link', { name: /The compiler is GCC 12/ }).click();
  await page.getByRole('heading', { name: `Note ${note.slice(0, 8)}` }).waitFor();
  await graph.getByText('←').first().waitFor();
  assert.match(page.url(), /query=lambda/, 'what was searched for stays');
  assert.deepEqual(await violations(page), []);
  await page.goto(`${daemon.origin}/#/memory/00`);
  await page.getByText('There is no note "00".').waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('skills have their tools, and how often they were used in a number and a shade', async () => {
  const read = (name) => ({ name: 'skill', arguments: { name } });
  const all = [['release', 'review'], ['release'], ['release']].map((each) => each.map(read));
  await daemon.ended(await daemon.agent(all));
  const page = await openTab(browser, daemon);
  await page.locator('body').press('g');
  await page.keyboard.press('k');
  const row = (name) => page.getByRole('row').filter({ hasText: name });
  await row('release').getByRole('cell', { name: '3', exact: true }).waitFor();
  await row('release').getByRole('cell', { name: 'tag', exact: true }).waitFor();
  assert.equal(await row('release').locator('.heat5').textContent(), '3');
  assert.equal(await row('What to look at').locator('.heat1').textContent(), '1');
  assert.equal(await row('odd').locator('.heat0').textContent(), '0');
  assert.equal(await page.locator('img').count(), 0, 'a description is text');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a call is approved once, for its task, or as a rule, which can be removed', async () => {
  const page = await openTab(browser, daemon);
  const open = async (task) => {
    const { promise } = await daemon.question(task);
    await page.goto(`${daemon.origin}/#/approvals?promise=${promise}`);
    await page.getByText('asked at').waitFor();
    await page.getByRole('group', { name: 'Approve' }).waitFor();
  };
  const approve = () => page.getByRole('button', { name: 'Approve a' }).click();

  const twice = [...recall('one'), ...recall('two')];
  const once = await daemon.agent(twice);
  await open(once);
  assert.ok(await page.getByRole('radio', { name: 'this call, once' }).isChecked());
  await approve();
  await page.getByRole('heading', { name: /recall#2/ }).waitFor(); // asked next, and shown
  await page.getByText('asked at').waitFor();
  await page.getByRole('radio', { name: /every agent: a rule/ }).check();
  await page.keyboard.press('r');
  await daemon.ended(once);
  assert.equal((await daemon.get('/rules')).rules.length, 0, 'what was rejected is no rule');

  const whole = await daemon.agent(twice);
  await open(whole);
  await page.getByRole('radio', { name: 'every call of recall in this task' }).check();
  await page.keyboard.press('a');
  await daemon.ended(whole);

  const ruled = await daemon.agent(recall('one'));
  await open(ruled);
  assert.ok(await page.getByRole('radio', { name: 'this call, once' }).isChecked(), 'each anew');
  await page.getByRole('radio', { name: /every agent: a rule/ }).check();
  await page.getByLabel('Comment').fill('<i>harmless</i>');
  await approve();
  await daemon.ended(ruled);
  await daemon.ended(await daemon.agent(recall('one'))); // nobody is asked
  await page.goto(`${daemon.origin}/#/approvals`);
  const rules = page.getByRole('region', { name: 'Standing rules' });
  await rules.getByText('"text":"one"').waitFor();
  await rules.getByText('<i>harmless</i>').waitFor();
  await rules.getByRole('button', { name: 'remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: /Remove the rule/ }).click();
  await rules.waitFor({ state: 'detached' });
  const again = await daemon.agent(recall('one'));
  await daemon.question(again);
  await daemon.post(`/tasks/${again}/kill`);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a patch is approved once, and nothing else is offered', async () => {
  const repository = join(daemon.data, 'repo');
  mkdirSync(repository);
  writeFileSync(join(repository, 'main.c'), 'int main() { return 1; }\n');
  const git = (...words) => execFileSync('git', ['-C', repository, ...words], { stdio: 'pipe' });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'first');
  const edit = { path: 'main.c', old_text: 'return 1', new_text: 'return 0' };
  const task = await daemon.agent([[{ name: 'edit', arguments: edit }]], { repository });
  const { promise } = await daemon.question(task);
  const page = await openTab(browser, daemon, { hash: `#/approvals?promise=${promise}` });
  await page.getByRole('region', { name: 'Changes' }).waitFor();
  await page.getByText('asked at').waitFor();
  assert.equal(await page.getByRole('radio').count(), 0);
  await page.locator('body').press('a');
  await daemon.ended(task);
  assert.match(git('log', '--format=%s', `tiffany/${task}`).toString(), /Done\nfirst/);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('an agent has links to the agents that it started', async () => {
  const script = JSON.stringify([
    { when: { contains: 'Count them' }, reply: { text: 'Seven' } },
    { reply: { calls: [{ name: 'delegate', arguments: { instruction: 'Count them.' } }] } },
    { reply: { text: 'Done' } },
  ]);
  const task = await daemon.agent([], { script });
  await daemon.ended(task);
  const { tasks } = await daemon.get(`/tasks?parent=${task}`);
  const page = await openTab(browser, daemon, { hash: `#/task/${task}/agent` });
  await page.getByRole('link', { name: tasks[0].id.slice(0, 8) }).click();
  await page.getByRole('link', { name: 'Agent', exact: true }).click();
  await page.getByText('Seven').waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByRole('link', { name: 'Each step on a timeline' }).click();
  await page.locator('.timeline canvas').waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a daemon whose agents have neither memory nor skills says how they get them', async () => {
  const bare = await new Daemon().start();
  try {
    const page = await openTab(browser, bare, { hash: '#/memory' });
    await page.getByText('{"memory": "memory.db"}').waitFor();
    await page.goto(`${bare.origin}/#/skills`);
    await page.getByText('{"skills": ["skills/release"]}').waitFor();
    await page.context().close();
    assert.deepEqual(page.complaints, []);
  } finally {
    await bare.close();
  }
});
