// Decisions of people: with the keyboard, on a phone, twice, and without the right to.
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

const resultOf = async (task) => (await daemon.get(`/tasks/${task}/result?wait=20s`)).result;

test('an approval appears by itself and is decided with the keyboard alone', async () => {
  const page = await openTab(browser, daemon);
  await page.locator('body').press('g');
  await page.keyboard.press('a');
  await page.getByText('Nothing waits for a decision').waitFor();
  // Nothing else happens in the daemon meanwhile, so nobody else has the record synced.
  const task = await daemon.order('kbd', 5000);
  await page.getByText('"amount": 5000').waitFor();
  await page.getByText('asked at').waitFor();
  await page.getByLabel('Comment').focus();
  await page.keyboard.type('looks right');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.equal(await resultOf(task), 'order kbd paid by payment-kbd');
  const { lines } = await daemon.get('/audit?limit=1');
  assert.equal(lines[0].reason, 'looks right');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a, r and n decide one after the other', async () => {
  const yes = await daemon.waiting('yes');
  const no = await daemon.waiting('no');
  const page = await openTab(browser, daemon, { hash: `#/approvals?promise=${yes.promise}` });
  await page.getByText('"id": "yes"').waitFor();
  await page.getByText('asked at').waitFor();
  await page.keyboard.press('n');
  await page.getByText('"id": "no"').waitFor();
  await page.getByText('asked at').waitFor();
  await page.keyboard.press('r');
  await page.getByText('"id": "yes"').waitFor();
  await page.getByText('asked at').waitFor();
  await page.keyboard.press('a');
  assert.equal(await resultOf(no.task), 'order no was not approved');
  assert.equal(await resultOf(yes.task), 'order yes paid by payment-yes');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('who comes second is told that somebody else decided', async () => {
  const { promise } = await daemon.waiting('twice');
  const page = await openTab(browser, daemon, { hash: `#/approvals?promise=${promise}` });
  await page.getByText('asked at').waitFor();
  // The page does not see it: the stream is cut off.
  await page.keyboard.press('Escape');
  await page.locator('body').press(' ');
  await page.getByText('‖ frozen').waitFor();
  await daemon.post(`/promises/${promise}`, { value: true });
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('alert').waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('what somebody else decides meanwhile does not make room for another one', async () => {
  const seen = await daemon.waiting('seen');
  const other = await daemon.waiting('other');
  const page = await openTab(browser, daemon, { hash: `#/approvals?promise=${seen.promise}` });
  await page.getByText('asked at').waitFor();
  await daemon.post(`/promises/${seen.promise}`, { value: false });
  await page.getByText('This one waits no longer').waitFor();
  await page.keyboard.press('a');
  await page.keyboard.press('n');
  await page.getByText('"id": "other"').waitFor();
  const { promises } = await daemon.get('/promises');
  assert.ok(promises.some((each) => each.id === other.promise));
  await daemon.post(`/promises/${other.promise}`, { value: false });
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('an answer that comes late does not take the page to where it was', async () => {
  const one = await daemon.waiting('late');
  const two = await daemon.waiting('next');
  const page = await openTab(browser, daemon, { hash: `#/approvals?promise=${one.promise}` });
  await page.getByText('asked at').waitFor();
  // The address has changed, and the page has not been told yet.
  const address = await page.evaluate(() => {
    location.hash = '#/tasks';
    dispatchEvent(new KeyboardEvent('keydown', { key: 'n' }));
    return location.hash;
  });
  assert.equal(address, '#/tasks');
  // The answer to a decision comes when the operator looks at something else.
  await page.goto(`${daemon.origin}/#/approvals?promise=${one.promise}`);
  await page.getByText('asked at').waitFor();
  const chosen = await page.evaluate(() => {
    location.hash = '#/approvals?promise=gone';
    dispatchEvent(new KeyboardEvent('keydown', { key: 'n' }));
    return location.hash;
  });
  assert.equal(chosen, '#/approvals?promise=gone', 'also within the view');
  await page.goto(`${daemon.origin}/#/approvals?promise=${one.promise}`);
  await page.getByText('"id": "late"').waitFor();
  await page.getByText('asked at').waitFor();
  let answer;
  const held = new Promise((done) => (answer = done));
  await page.route('**/api/v1/promises/*', async (route) => {
    await held;
    await route.continue();
  });
  await page.keyboard.press('a');
  await page.getByRole('button', { name: 'Approve' }).and(page.locator(':disabled')).waitFor();
  await page.locator(`[data-promise="${two.promise}"]`).click();
  await page.getByText('"id": "next"').waitFor();
  answer();
  await page.getByRole('status').getByText('approved').waitFor();
  assert.match(page.url(), new RegExp(two.promise), 'what was chosen meanwhile stays');
  assert.equal(await resultOf(one.task), 'order late paid by payment-late');
  await daemon.post(`/promises/${two.promise}`, { value: false });
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('a viewer sees and cannot decide', async () => {
  const { promise } = await daemon.waiting('look');
  const token = await daemon.newToken('looks', 'viewer');
  const page = await openTab(browser, daemon, { token, hash: `#/approvals?promise=${promise}` });
  await page.getByText("Your token is a viewer's").waitFor();
  assert.ok(await page.getByRole('button', { name: 'Approve' }).isDisabled());
  await page.keyboard.press('a');
  await page.goto(`${daemon.origin}/#/settings`);
  await page.getByText('are for admins').waitFor();
  assert.ok((await daemon.get('/promises')).promises.some((each) => each.id === promise));
  await daemon.post(`/promises/${promise}`, { value: false });
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('on a phone an approval is two taps', async () => {
  const { task } = await daemon.waiting('phone');
  const page = await openTab(browser, daemon, {
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  });
  await page.getByRole('link', { name: 'Approvals 1' }).tap();
  const approve = page.getByRole('button', { name: 'Approve' });
  await page.getByText('asked at').waitFor();
  const box = await approve.boundingBox();
  assert.ok(
    box.height >= 44 && box.x + box.width <= 390,
    'large enough for a finger, and on screen',
  );
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `nothing is wider than the screen: ${wide}`);
  await approve.tap();
  await until(async () => (await daemon.get('/promises')).promises.length === 0, 'the approval');
  assert.equal(await resultOf(task), 'order phone paid by payment-phone');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});
