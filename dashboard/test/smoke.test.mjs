// The short part of the browser tests, which ./dev test runs, too: one daemon, one browser, and
// what must not break. Nothing here waits for a time to be over.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon, openBrowser, openTab, violations } from './support.mjs';

let daemon;
let browser;
before(async () => {
  daemon = await new Daemon().start();
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await daemon?.close();
});

const rowOf = (page, id) => page.locator(`tr[data-task="${id}"]`);

test('signed in with a token, a task appears by itself and its end does, too', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(daemon.origin);
  await page.getByLabel('Token').fill(daemon.token);
  await page.keyboard.press('Enter');
  await page.getByText('● live').waitFor();
  const id = await daemon.order('live', 5000);
  await rowOf(page, id).locator('.badge.running').waitFor();
  await daemon.post(`/tasks/${id}/kill`);
  await rowOf(page, id).locator('.badge.cancelled').waitFor();
  await context.close();
});

test('an approval is found and given with the keyboard alone', async () => {
  const { task } = await daemon.waiting('<img src=x onerror="window.hurt=1">');
  const page = await openTab(browser, daemon);
  await page.locator('body').press('g');
  await page.keyboard.press('a');
  const asked = page.getByRole('region', { name: 'What is asked' });
  await asked.getByText('asked at').waitFor();
  await asked.getByText('onerror').first().waitFor();
  assert.equal(await page.locator('img').count(), 0, 'text of users is text');
  await page.locator('body').press('a');
  await daemon.get(`/tasks/${task}/result?wait=20s`);
  const { status } = await daemon.get(`/tasks/${task}`);
  assert.equal(status, 'completed');
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('tasks, light, and a task, dark, have no serious violation of WCAG AA', async () => {
  const { task } = await daemon.waiting('look');
  const page = await openTab(browser, daemon, { colorScheme: 'light' });
  await rowOf(page, task).waitFor();
  assert.deepEqual(await violations(page), []);
  await page.emulateMedia({ colorScheme: 'dark' });
  await rowOf(page, task).getByRole('link').click();
  await page.getByRole('region', { name: 'Table of steps' }).waitFor();
  assert.deepEqual(await violations(page), []);
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});

test('the page may load and run nothing but its own files', async () => {
  const answer = await fetch(daemon.origin);
  const policy = answer.headers.get('content-security-policy');
  assert.match(policy, /default-src 'self'/);
  assert.ok(!policy.includes('unsafe'), policy);
  const page = await openTab(browser, daemon);
  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.hurt = 1';
    document.body.append(script);
    return window.hurt;
  });
  assert.equal(ran, undefined);
  await page.context().close();
});

test('a daemon that was killed and comes back is seen to', async () => {
  const page = await openTab(browser, daemon);
  const { task } = await daemon.waiting('killed');
  await rowOf(page, task).waitFor();
  await daemon.end('SIGKILL');
  await page.getByText(/reconnecting since \d\d:\d\d:\d\d/).waitFor();
  await daemon.start();
  await page.getByText('● live').waitFor();
  await daemon.post(`/tasks/${task}/kill`);
  await rowOf(page, task).locator('.badge.cancelled').waitFor();
  await page.context().close();
  assert.deepEqual(page.complaints, []);
});
