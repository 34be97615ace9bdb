// mcp_clients.mjs <daemon> <socket> <url> <token>: the SDKs of MCP as clients of a daemon
// (tests/app/mcp_fixture.cpp), of both eras, over stdio and HTTP. For tools/soak_mcp.py, which
// kills the daemon and starts it again when this prints "kill", and then answers with a line.
import assert from 'node:assert/strict';
import readline from 'node:readline';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as oldHttp from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';

const [program, socket, url, token] = process.argv.slice(2);
const VERSION = '2026-07-28';
const INFO = { name: 'soak', version: '1' };
const CAPABILITIES = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function killDaemon() {
  console.log('kill');
  await lines.next();
}

const server = { command: program, args: ['--socket', socket, 'mcp', '--approve'] };
const headers = { authorization: `Bearer ${token}` };

function text(result) {
  assert.equal(result.isError ?? false, false, JSON.stringify(result));
  return result.structuredContent;
}

// A call that takes longer than the client is patient, and says something meanwhile.
async function progress(call) {
  const heard = [];
  const said = await call(
    { name: 'slow_compute', arguments: { seconds: 7, label: 'slowly' } },
    { timeout: 6500, resetTimeoutOnProgress: true, onprogress: (each) => heard.push(each) },
  );
  assert.equal(said.content[0].text, 'computed slowly');
  assert.ok(heard.length >= 2, JSON.stringify(heard));
  heard.reduce((before, each) => {
    assert.ok(each.progress > before, JSON.stringify(heard));
    return each.progress;
  }, -1);
}

// Resources, prompts and completion, which are the same in both eras.
async function readEverything(client, id) {
  const uri = `tiffany://tasks/${id}`;
  const { resources } = await client.listResources();
  const listed = resources.map((each) => each.uri);
  assert.ok(listed.includes(uri) && listed.includes('test://static-text'), `${listed}`);
  const { contents } = await client.readResource({ uri });
  assert.equal(JSON.parse(contents[0].text).id, id);
  const log = await client.readResource({ uri: `${uri}/log` });
  assert.ok(JSON.parse(log.contents[0].text).records.length > 1);
  await assert.rejects(client.readResource({ uri: 'test://nowhere' }));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.ok(resourceTemplates.some((each) => each.uriTemplate === 'tiffany://tasks/{task}/diff'));
  const found = await client.complete({
    ref: { type: 'ref/resource', uri: 'tiffany://tasks/{task}' },
    argument: { name: 'task', value: id.slice(0, 10) },
  });
  assert.deepEqual(found.completion.values, [id]);
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some((each) => each.name === 'test_simple_prompt'));
  const prompt = await client.getPrompt({
    name: 'test_prompt_with_arguments',
    arguments: { arg1: 'one', arg2: 'two' },
  });
  assert.match(prompt.messages[0].content.text, /arg1='one', arg2='two'/);
  const picture = await client.callTool({ name: 'test_image_content', arguments: {} });
  assert.equal(picture.content[0].mimeType, 'image/png');
}

// A client is told that a task has changed.
async function subscribed(client, schema, change) {
  const told = new Promise((resolve) => client.setNotificationHandler(schema, resolve));
  const id = await change();
  assert.equal((await told).params.uri, `tiffany://tasks/${id}`);
}

// ---- The handshake era ----

async function oldEra(name, transport) {
  const client = new OldClient(INFO);
  await client.connect(transport());
  const tools = (await client.listTools()).tools.map((each) => each.name);
  assert.ok(tools.includes('submit') && tools.includes('slow_compute'), `${tools}`);
  const call = async (tool, args) => text(await client.callTool({ name: tool, arguments: args }));
  const job = (seconds, label) => ({ type: 'slow_compute', arguments: { seconds, label } });
  const submit = { ...job(2, name), key: `old ${name}` };
  const started = await call('submit', submit);
  assert.equal((await call('submit', submit)).id, started.id, 'the same key is the same task');
  await killDaemon();
  const ended = await call('wait', { task: started.id });
  assert.equal(ended.result, `computed ${name}`);
  await readEverything(client, started.id);
  if (name === 'stdio') {
    await subscribed(client, ResourceUpdatedNotificationSchema, async () => {
      const { id } = await call('submit', job(600, 'watched'));
      await client.subscribeResource({ uri: `tiffany://tasks/${id}` });
      await call('cancel', { task: id });
      return id;
    });
  }
  const long = await call('submit', job(600, 'x'));
  await call('cancel', { task: long.id, reason: 'enough' });
  assert.equal((await call('wait', { task: long.id })).status, 'cancelled');
  await progress((params, options) => client.callTool(params, undefined, options));
  const failed = await client.callTool({ name: 'get', arguments: { task: 'x' } });
  assert.equal(failed.isError, true);
  const greeted = await client.callTool({ name: 'greet', arguments: { name: 'Ada' } });
  assert.equal(greeted.content[0].text, 'Hello, Ada!');
  await client.close();
  console.log(`sdk over ${name}: submitted, killed, waited, heard, read, cancelled`);
}

// ---- The era without a handshake ----

// Requests of the tasks extension, whose wire the SDK leaves to its host.
function wireOver(name) {
  if (name === 'http') {
    return async (request) => {
      const { method, params } = request;
      const named = params.taskId ?? params.name;
      const answer = await fetch(url, {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': VERSION,
          'mcp-method': method,
          ...(named === undefined ? {} : { 'mcp-name': named }),
        },
        body: JSON.stringify(request),
      });
      return answer.json();
    };
  }
  const transport = new StdioClientTransport(server);
  const waiting = new Map();
  transport.onmessage = (message) => waiting.get(message.id)?.(message);
  const started = transport.start();
  const wire = async (request) => {
    await started;
    return new Promise((resolve, reject) => {
      waiting.set(request.id, resolve);
      transport.send(request).catch(reject);
    });
  };
  wire.close = () => transport.close();
  return wire;
}

// Looks again while the daemon is away: a task is not lost with it.
function dispatchOver(wire) {
  return async (request) => {
    for (let tries = 1; ; ++tries) {
      try {
        const whole = { jsonrpc: '2.0', id: ++lastId, ...request };
        const { result, error } = await wire(whole);
        if (error === undefined) return { kind: 'result', result };
        if (error.code !== -32603 || request.method !== 'tasks/get' || tries === 50) {
          return { kind: 'error', error };
        }
      } catch (error) {
        if (request.method !== 'tasks/get' || tries === 50) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
}

async function newEra(name, transport, mode) {
  const client = new Client(INFO, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode },
  });
  await client.connect(transport());
  const tools = (await client.listTools()).tools.map((each) => each.name);
  assert.ok(tools.includes('submit') && tools.includes('confirm_delete'), `${tools}`);
  const wire = wireOver(name);
  const dispatch = dispatchOver(wire);
  const session = createTaskSessionFromClient(client, {
    endpointId: `soak ${name}`,
    rawDispatch: dispatch,
    v2RequestFraming: {
      protocolVersion: VERSION,
      clientInfo: INFO,
      clientCapabilities: CAPABILITIES,
    },
    onInputRequest: async (request) => {
      assert.equal(request.kind, 'elicitation');
      return { action: 'accept', content: { confirm: true } };
    },
  });
  // A daemon that is killed under a task which the client follows.
  const execution = await session.callTool('slow_compute', { seconds: 3, label: name });
  const settled = execution.settle();
  const { taskId } = execution.handle;
  await killDaemon();
  const { outcome } = await settled;
  assert.equal(outcome.status, 'completed', JSON.stringify(outcome));
  assert.equal(outcome.result.content[0].text, `computed ${name}`);
  assert.equal((await pollToEnd(dispatch, taskId)).status, 'completed');
  await readEverything(client, taskId);
  const heard = [];
  await client.callTool(
    { name: 'test_tool_with_progress', arguments: {} },
    { onprogress: (each) => heard.push(each) },
  );
  assert.ok(heard.length >= 2, JSON.stringify(heard));
  // A question to a person.
  const asked = await session.callTool('confirm_delete', { filename: `${name}.txt` });
  const answered = (await asked.settle()).outcome;
  assert.equal(answered.status, 'completed', JSON.stringify(answered));
  assert.equal(answered.result.content[0].text, `${name}.txt was deleted`);
  // A task that is cancelled.
  const long = await session.callTool('slow_compute', { seconds: 600, label: 'x' });
  await long.cancel();
  assert.equal((await pollToEnd(dispatch, long.handle.taskId)).status, 'cancelled');
  await session.close();
  await wire.close?.();
  await client.close();
  console.log(`client and ext-tasks over ${name}: followed, killed, read, heard, asked, cancelled`);
}

let lastId = 1_000_000;
function framed(method, params) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': INFO,
    'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
  };
  return { method, params: { ...params, _meta: meta } };
}

async function pollToEnd(dispatch, taskId) {
  for (let i = 0; i < 150; ++i) {
    const { result, error } = await dispatch(framed('tasks/get', { taskId }));
    assert.equal(error, undefined, JSON.stringify(error));
    if (result.status !== 'working' && result.status !== 'input_required') return result;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`task ${taskId} does not end`);
}

const at = new URL(url);
const init = { requestInit: { headers } };
await oldEra('stdio', () => new OldStdio(server));
await oldEra('http', () => new oldHttp.StreamableHTTPClientTransport(at, init));
await newEra('stdio', () => new StdioClientTransport(server), 'auto');
await newEra('http', () => new StreamableHTTPClientTransport(at, init), { pin: VERSION });
process.exit(0);
