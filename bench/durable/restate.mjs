#!/usr/bin/env node
// The same steps on Restate: its server, a service in this process, and invocations over loopback.
// Takes the options of the other programs of this directory. Where its packages are:
// TIFFANY_SERVERS, a directory with node_modules (see README.md).
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import http2 from 'node:http2';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

Promise.withResolvers ??= function () { // the SDK wants Node 22, and this is all that 20 lacks
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};

const kSteps = 20;
const servers = process.env.TIFFANY_SERVERS ?? '.';
const installed = createRequire(pathToFileURL(join(servers, 'node_modules/')));

function options() {
  const words = process.argv.slice(2);
  const after = (name) => words.includes(name) ? words[words.indexOf(name) + 1] : undefined;
  return {
    quick: words.includes('--quick'),
    only: after('--only')?.split(','),
    runs: Number(after('--runs') ?? 1),
  };
}

// Tries it until it works: a server that was just started answers after a while.
async function until(what, works) {
  let error;
  for (const start = Date.now(); Date.now() - start < 30_000;) {
    try {
      return await works();
    } catch (failed) {
      error = failed;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what} did not work within 30 s: ${error.message}`);
}

function free_port() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const agent = new Agent({ keepAlive: true, maxSockets: 1024 });
function call(port, method, path, body) {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, method, path, agent,
                            headers: { 'content-type': 'application/json' } }, (answer) => {
      let text = '';
      answer.on('data', (more) => { text += more; });
      answer.on('end', () => answer.statusCode < 300 ? resolve(text) : reject(
          new Error(`${method} ${path} was answered with ${answer.statusCode}: ${text}`)));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

let server;
async function start(directory) {
  const restate = await import(pathToFileURL(installed.resolve('@restatedev/restate-sdk')));
  const service = restate.service({
    name: 'bench',
    handlers: {
      trivial: async (context, steps) => {
        let sum = 0;
        for (let i = 0; i < steps; ++i) sum += await context.run('add', () => i);
        return sum;
      },
    },
  });
  const [own, ingress, admin, node] =
      [await free_port(), await free_port(), await free_port(), await free_port()];
  const handler = restate.createEndpointHandler({ services: [service], logger: () => {} });
  http2.createServer(handler).listen(own, '127.0.0.1');
  const system = `${process.platform}-${process.arch}`;
  const binary = `@restatedev/restate-server-${system}/bin/restate-server`;
  server = spawn(installed.resolve(binary), ['--base-dir', directory], {
    stdio: 'ignore',
    env: {
      ...process.env,
      RESTATE_DISABLE_TELEMETRY: 'true',
      RESTATE_NODE_NAME: 'bench',
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_LOG_FILTER: 'error',
    },
  });
  process.on('exit', () => server.kill('SIGKILL'));
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
  await until('registering with the server', () => call(
      admin, 'POST', '/deployments', JSON.stringify({ uri: `http://127.0.0.1:${own}` })));
  await until('a first task', () => call(ingress, 'POST', '/bench/trivial', '1'));
  return ingress;
}

// In steps a second.
async function measure(port, at_once, tasks_each, steps) {
  const sum = String(steps * (steps - 1) / 2);
  const one_by_one = async () => {
    for (let i = 0; i < tasks_each; ++i) {
      const got = await call(port, 'POST', '/bench/trivial', String(steps));
      if (got !== sum) throw new Error(`a task gave ${got} and not ${sum}`);
    }
  };
  const before = process.hrtime.bigint();
  await Promise.all(Array.from({ length: at_once }, one_by_one));
  return at_once * tasks_each * steps / (Number(process.hrtime.bigint() - before) / 1e9);
}

const { quick, only, runs } = options();
const rows = [
  ['steps_sequential', 1, 1, quick ? 300 : 1000],
  ['steps_64', 64, quick ? 4 : 20, kSteps],
  ['steps_512', 512, quick ? 1 : 3, kSteps],
].filter(([name]) => only === undefined || only.includes(name));
if (rows.length === 0) process.exit(0);

const directory = mkdtempSync(join(servers, 'scratch-'));
try {
  const port = await start(directory);
  for (const [name, ...load] of rows) {
    let best = 0;
    for (let i = 0; i < runs; ++i) best = Math.max(best, await measure(port, ...load));
    console.log(JSON.stringify({ name, unit: 'steps/s', value: best }));
  }
} finally {
  const gone = server === undefined || server.exitCode !== null || server.signalCode !== null;
  server?.kill('SIGKILL');
  if (!gone) await new Promise((resolve) => server.once('exit', resolve));
  rmSync(directory, { recursive: true, force: true });
}
process.exit(0);
