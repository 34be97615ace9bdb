// A real daemon (tests/app/dashboard_daemon.cpp) and Debian's Chromium, for the browser tests.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const dashboard = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);

// The program under test: TIFFANY_DAEMON, or what was built last.
function program() {
  const named = process.env.TIFFANY_DAEMON;
  if (named) return named;
  for (const preset of ['release', 'debug', 'asan', 'clang']) {
    const path = join(dashboard, '..', 'build', preset, 'tests', 'dashboard_daemon');
    if (existsSync(path)) return path;
  }
  throw new Error('dashboard_daemon is not built: ./dev build, or name it in TIFFANY_DAEMON');
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Until `look` gives something true, or 20 seconds are over.
export async function until(look, what = 'it') {
  const end = Date.now() + 20_000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited 20 seconds for ${what}`);
    await sleep(20);
  }
}

export class Daemon {
  // `more`: other words of the command line.
  constructor(...more) {
    this.data = mkdtempSync(join(tmpdir(), 'tiffany-web-'));
    this.port = 0;
    this.more = more;
  }

  async start(variables = {}) {
    const listen = ['--listen', `127.0.0.1:${this.port}`];
    const words = ['serve', '--data', this.data, ...listen, ...this.more];
    // Files that are not embedded yet: what `npm run build` has just made.
    if (process.env.TIFFANY_WEB_ROOT) words.push('--web-root', process.env.TIFFANY_WEB_ROOT);
    this.process = spawn(program(), words, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...variables },
    });
    let said = '';
    await new Promise((done, failed) => {
      this.process.stdout.on('data', (text) => {
        said += text;
        const found = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(said);
        if (!found) return;
        this.port = Number(found[1]);
        done();
      });
      this.process.on('exit', (code) => failed(new Error(`the daemon ended (${code}): ${said}`)));
    });
    this.token = readFileSync(join(this.data, 'admin.token'), 'utf8').trim();
    return this;
  }

  get origin() {
    return `http://127.0.0.1:${this.port}`;
  }

  async end(signal = 'SIGKILL') {
    const ended = new Promise((done) => this.process.once('exit', done));
    this.process.kill(signal);
    await ended;
  }

  async close() {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.end();
    rmSync(this.data, { recursive: true, force: true });
  }

  async ask(method, path, body, token = this.token) {
    const answer = await fetch(this.origin + path, {
      method,
      headers: { authorization: `Bearer ${token}` },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, text, json: text.startsWith('{') ? JSON.parse(text) : null };
  }
  async get(path) {
    return (await this.ask('GET', '/api/v1' + path)).json;
  }
  async post(path, body = {}) {
    return (await this.ask('POST', '/api/v1' + path, body)).json;
  }

  // An order of 1000 and more waits for an approval.
  async order(id, amount, more = {}) {
    const made = await this.post('/tasks', {
      type: 'order',
      arguments: [{ id, amount }],
      ...more,
    });
    if (!made.id) throw new Error(JSON.stringify(made));
    return made.id;
  }
  async waiting(id, amount = 5000, more = {}) {
    const task = await this.order(id, amount, more);
    const promise = await until(async () => {
      const { waits } = await this.get(`/tasks/${task}`);
      return waits.find((each) => each.kind === 'promise')?.id;
    }, 'the approval to be asked for');
    return { task, promise };
  }
  async newToken(name, role) {
    const made = await this.post('/tokens', { name, role });
    if (!made.token) throw new Error(JSON.stringify(made));
    return made.token;
  }
}

const skillOf = (name, about) => `---\nname: ${name}\ndescription: ${about}\n---\nCount first.\n`;
// What the file of the setting `agents` names, by its path.
const agentFiles = {
  'agents.json': JSON.stringify({
    skills: ['skills/release', 'skills/review', 'skills/<b>odd<'],
    memory: 'memory.db',
    delegate: true,
    policy: { rules: [{ tool: 'recall', ruling: 'ask' }] },
  }),
  'skills/release/SKILL.md': skillOf('release', 'How a release of the shop is made.'),
  'skills/release/tools/tag.json': JSON.stringify({
    name: 'tag',
    about: 'Tags.',
    argv: ['true'],
    input: { type: 'object' },
    effect: 'pure',
  }),
  'skills/review/SKILL.md': skillOf('review', 'What to look at in a patch.'),
  'skills/<b>odd</SKILL.md': skillOf('odd', '<img src=x onerror="window.hurt=1">'),
};

// A daemon whose agents have a memory and skills, and ask before they recall.
export class AgentDaemon extends Daemon {
  constructor(...more) {
    super(...more);
    for (const [name, text] of Object.entries(agentFiles)) {
      const path = join(this.data, 'of-agents', name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    this.more.push('--agents', join(this.data, 'of-agents', 'agents.json'));
  }
  // Its replies: the calls of each, and one that ends it.
  async agent(calls, more = {}) {
    const { instruction = 'Do it.', ...others } = more;
    const entries = calls.map((each) => ({ reply: { text: 'I look.', calls: each } }));
    const script = JSON.stringify([...entries, { reply: { text: 'Done' } }]);
    const ask = { instruction, script, ...others };
    const made = await this.post('/tasks', { type: 'tiffany.agent', arguments: [ask] });
    if (!made.id) throw new Error(JSON.stringify(made));
    return made.id;
  }
  async ended(task) {
    return this.get(`/tasks/${task}/result?wait=20s`);
  }
  // Gives the id of the note.
  async remember(text, more = {}) {
    const task = await this.agent([[{ name: 'remember', arguments: { text, ...more } }]]);
    await this.ended(task);
    const { notes } = await this.get('/memory?limit=100');
    const found = notes.find((each) => each.text === text);
    if (!found) throw new Error(JSON.stringify(await this.get(`/tasks/${task}`)));
    return { task, note: found.id };
  }
  async question(task) {
    return until(async () => {
      const { answer } = await this.get(`/tasks/${task}/query?name=agent`);
      return answer?.question;
    }, 'the question of the agent');
  }
}

// The way between a browser and the daemon, which can be cut.
export class Cable {
  constructor(daemon) {
    this.ends = new Set();
    this.whole = true;
    this.server = createServer((near) => {
      if (!this.whole) return near.destroy();
      const far = connect(daemon.port, '127.0.0.1');
      for (const [one, other] of [
        [near, far],
        [far, near],
      ]) {
        this.ends.add(one);
        one.pipe(other);
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.ends.delete(one);
          other.destroy();
        });
      }
    });
  }
  async start() {
    await new Promise((done) => this.server.listen(0, '127.0.0.1', done));
    this.origin = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }
  cut() {
    this.whole = false;
    for (const each of this.ends) each.destroy();
  }
  mend() {
    this.whole = true;
  }
  close() {
    this.cut();
    this.server.close();
  }
}

const executable = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => existsSync(path));

export async function openBrowser() {
  return chromium.launch({
    executablePath: process.env.TIFFANY_CHROMIUM ?? executable,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
}

// A tab with the token of the daemon. `complaints` has what must not be there in any test: errors
// of the page or the console, and requests to elsewhere.
export async function openTab(browser, daemon, options = {}) {
  const { hash = '#/tasks', token = daemon.token, origin = daemon.origin, ...rest } = options;
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, ...rest });
  const page = await context.newPage();
  page.complaints = [];
  page.on('pageerror', (error) => page.complaints.push(`error: ${error.stack}`));
  page.on('console', (message) => {
    // What the browser itself says about an answer that is no success is no error of the page.
    if (message.type() !== 'error' || /Failed to load resource/.test(message.text())) return;
    page.complaints.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith('blob:')) {
      page.complaints.push(`a request left the origin: ${url}`);
    }
  });
  page.setDefaultTimeout(20_000);
  await page.goto(`${origin}/#token=${token}`);
  await page.getByText('● live').waitFor();
  if (hash !== '#/tasks') await page.goto(`${origin}/${hash}`);
  return page;
}

// Which of these colours of the theme the timeline has in it.
export function coloursOf(page, names) {
  return page.evaluate((wanted) => {
    const box = document.querySelector('.timeline canvas');
    const data = box.getContext('2d').getImageData(0, 0, box.width, box.height).data;
    const all = new Set();
    for (let i = 0; i < data.length; i += 4)
      all.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    const style = getComputedStyle(box);
    const colour = (name) =>
      Number.parseInt(style.getPropertyValue(`--${name}`).trim().slice(1), 16);
    return Object.fromEntries(wanted.map((name) => [name, all.has(colour(name))]));
  }, names);
}

// What axe-core finds that is serious or critical.
export async function violations(page) {
  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const found = await page.evaluate(() =>
    globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }),
  );
  return found.violations
    .filter((each) => each.impact === 'serious' || each.impact === 'critical')
    .map((each) => `${each.id}: ${each.help}: ${each.nodes.map((node) => node.html).join(' | ')}`);
}
