#!/usr/bin/env node
// A scripted model as others read it:
//
//   node tests/agent/openai_sdk.mjs PROGRAM DIRECTORY        (./dev soak models)
//
// PROGRAM is tiffany-scripted-model; the openai package of npm is below DIRECTORY/node_modules. The
// package asks in both protocols, streamed and not, through its own helpers that put streams
// together, and what it makes of each answer is compared with the script; and for embeddings, as
// numbers and as base64. Faults: its own retries must come through 429 and 500, and a cut stream
// must be an error.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import assert from "node:assert/strict";

const [program, directory] = process.argv.slice(2);
if (!program || !directory) {
  console.error("usage: openai_sdk.mjs PROGRAM DIRECTORY");
  process.exit(2);
}
const require = createRequire(path.resolve(directory, "package.json"));
const OpenAI = require("openai").default ?? require("openai");

const said = "I look at “both” files, 😀 included.";
const script = [
  { when: { contains: "limited" }, fault: 429, times: 2, retry_after: 0, reply: { text: "now" } },
  { when: { contains: "broken" }, fault: 500, reply: { text: "well again" } },
  { when: { contains: "cut" }, fault: "cut", times: 9, reply: { text: "one two three four" } },
  { when: { contains: "long" }, reply: { text: "so far", stop: "length" } },
  {
    when: { turn: 1 },
    reply: {
      text: said,
      calls: [
        { name: "read", arguments: { path: "a.c", note: "ä\n\"" } },
        { name: "list", id: "mine", arguments: {} },
      ],
      usage: { input: 120, cached: 20, output: 9 },
    },
  },
  { when: { turn: 2, contains: "int main" }, reply: { text: "Done." } },
];
const place = mkdtempSync(path.join(tmpdir(), "scripted-"));
const file = path.join(place, "script.json");
const faults = [
  { when: { contains: "limited" }, fault: 429, times: 2, retry_after: 0 },
  { when: { contains: "broken" }, fault: 500, times: 1 },
  { when: { contains: "cut" }, fault: "cut" },
];
writeFileSync(file, JSON.stringify({ replies: script, embeddings: faults }));

const server = spawn(program, [file], { stdio: ["ignore", "pipe", "inherit"] });
const url = await new Promise((found, failed) => {
  server.stdout.once("data", (line) => found(String(line).trim()));
  server.once("exit", (code) => failed(new Error(`the server ended with ${code}`)));
});
const client = new OpenAI({ baseURL: url, apiKey: "none", timeout: 10_000, maxRetries: 3 });
const once = new OpenAI({ baseURL: url, apiKey: "none", timeout: 10_000, maxRetries: 0 });
const tools = [{ type: "function", function: { name: "read", parameters: { type: "object" } } }];
const ask = (content) => ({ model: "m", messages: [{ role: "user", content }] });
let checks = 0;

function checkChat(message, usage) {
  assert.equal(message.content, said);
  assert.deepEqual(message.tool_calls.map((each) => [each.id, each.function.name]),
    [["call_1_1", "read"], ["mine", "list"]]);
  assert.deepEqual(JSON.parse(message.tool_calls[0].function.arguments),
    { path: "a.c", note: "ä\n\"" });
  assert.equal(usage.prompt_tokens, 120);
  assert.equal(usage.prompt_tokens_details.cached_tokens, 20);
  assert.equal(usage.total_tokens, 129);
  checks += 1;
}

async function chat() {
  const whole = await client.chat.completions.create({ ...ask("go"), tools });
  checkChat(whole.choices[0].message, whole.usage);
  assert.equal(whole.choices[0].finish_reason, "tool_calls");
  const stream = client.chat.completions.stream(
    { ...ask("go"), tools, stream_options: { include_usage: true } });
  let live = "";
  stream.on("content", (piece) => { live += piece; });
  const streamed = await stream.finalChatCompletion();
  checkChat(streamed.choices[0].message, streamed.usage);
  assert.equal(live, said);
  assert.equal(streamed.choices[0].finish_reason, "tool_calls");
  const next = await client.chat.completions.create({
    model: "m",
    messages: [
      ...ask("go").messages, whole.choices[0].message,
      { role: "tool", tool_call_id: "call_1_1", content: "int main" },
      { role: "tool", tool_call_id: "mine", content: [{ type: "text", text: "a.c" }] },
    ],
  });
  assert.equal(next.choices[0].message.content, "Done.");
  assert.equal((await client.chat.completions.create(ask("long"))).choices[0].finish_reason,
    "length");
  assert.equal((await client.chat.completions.create(ask("limited"))).choices[0].message.content,
    "now");
  assert.equal((await client.chat.completions.create(ask("broken"))).choices[0].message.content,
    "well again");
  await assert.rejects(once.chat.completions.stream(ask("cut")).finalChatCompletion());
  await assert.rejects(once.chat.completions.create({ ...ask("x"), messages: [
    ...ask("x").messages, { role: "assistant", content: "y" }] }), /no reply for turn 2/);
  checks += 7;
}

function checkResponse(response) {
  assert.equal(response.status, "completed");
  const texts = response.output.filter((each) => each.type === "message");
  assert.equal(texts.flatMap((each) => each.content.map((part) => part.text)).join(""), said);
  const calls = response.output.filter((each) => each.type === "function_call");
  assert.deepEqual(calls.map((each) => [each.call_id, each.name]),
    [["call_1_1", "read"], ["mine", "list"]]);
  assert.deepEqual(JSON.parse(calls[0].arguments), { path: "a.c", note: "ä\n\"" });
  assert.equal(response.usage.input_tokens, 120);
  assert.equal(response.usage.input_tokens_details.cached_tokens, 20);
  checks += 1;
}

// The package asks for base64 unless it is told otherwise, and makes numbers of it.
async function embeddings() {
  const input = ["The tests need a display.", "a display for tests", "Water is wet."];
  const numbers = await client.embeddings.create(
    { model: "e", input, encoding_format: "float" });
  const packed = await client.embeddings.create({ model: "e", input });
  assert.deepEqual(packed.data.map((each) => each.index), [0, 1, 2]);
  numbers.data.forEach(({ embedding }, at) => {
    assert.equal(embedding.length, 256);
    embedding.forEach((each, i) => {
      assert.ok(Math.abs(each - packed.data[at].embedding[i]) < 1e-6);
    });
  });
  const product = (a, b) => numbers.data[a].embedding.reduce(
    (sum, each, i) => sum + each * numbers.data[b].embedding[i], 0);
  assert.ok(Math.abs(product(0, 0) - 1) < 1e-5 && product(0, 1) > 2 * Math.abs(product(0, 2)));
  assert.ok(numbers.usage.prompt_tokens > 0 && numbers.model === "e");
  const short = await client.embeddings.create({ model: "e", input: "limited", dimensions: 8 });
  assert.equal(short.data[0].embedding.length, 8);
  assert.equal((await client.embeddings.create({ model: "e", input: "broken" })).data.length, 1);
  await assert.rejects(once.embeddings.create({ model: "e", input: "cut" }));
  await assert.rejects(once.embeddings.create({ model: "e", input: [[1, 2]] }),
    /no lists of tokens/);
  checks += 7;
}

async function responses() {
  const question = { model: "m", input: [{ role: "user", content: "go" }], instructions: "Short." };
  const whole = await client.responses.create(question);
  checkResponse(whole);
  assert.equal(whole.output_text, said);  // made by the package; of a stream it makes none
  const stream = client.responses.stream(question);
  let live = "";
  let numbers = 0;
  for await (const event of stream) {
    assert.equal(event.sequence_number, numbers);
    numbers += 1;
    if (event.type === "response.output_text.delta") live += event.delta;
  }
  checkResponse(await stream.finalResponse());
  assert.equal(live, said);
  const next = await client.responses.create({
    model: "m",
    input: [
      ...question.input, ...whole.output,
      { type: "function_call_output", call_id: "call_1_1", output: "int main" },
    ],
  });
  assert.equal(next.output_text, "Done.");
  const long = await client.responses.create({ model: "m", input: "long" });
  assert.equal(long.status, "incomplete");
  assert.equal(long.incomplete_details.reason, "max_output_tokens");
  const limited = await client.responses.create({ model: "m", input: "limited" });
  assert.equal(limited.output_text, "now");
  await assert.rejects(once.responses.stream({ model: "m", input: "cut" }).finalResponse());
  checks += 5;
}

let code = 1;
try {
  await chat();
  await embeddings();
  await responses();
  assert.deepEqual((await client.models.list()).data.map((each) => each.id), ["script"]);
  const manifest = path.resolve(directory, "node_modules/openai/package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8"));
  console.log(`openai ${version} read ${checks + 1} answers as they were meant`);
  code = 0;
} catch (error) {
  console.error(error);
} finally {
  server.kill("SIGTERM");
  rmSync(place, { recursive: true });
}
process.exitCode = code;
