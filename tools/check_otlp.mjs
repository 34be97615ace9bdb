#!/usr/bin/env node
// Spans and traces as others read them:
//
//   tools/check_otlp.mjs PROGRAM DIRECTORY        (./dev soak otlp)
//
// PROGRAM is tests/serve/otlp_source.cpp. What it sends is decoded with the code that OpenTelemetry
// generates from its protocol (@opentelemetry/otlp-transformer, below DIRECTORY/node_modules), made
// into JSON again and compared, so that a member with a wrong name or type is found. The trace file
// is compared with what the Trace Event Format asks of each kind of event.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import assert from "node:assert/strict";

const [program, directory] = process.argv.slice(2);
if (!program || !directory) {
  console.error("usage: check_otlp.mjs PROGRAM DIRECTORY");
  process.exit(2);
}
const require = createRequire(import.meta.url);
const generated = path.resolve(
  directory, "node_modules/@opentelemetry/otlp-transformer/build/src/generated/root.js");
const root = require(generated);
const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

const kIds = { traceId: 16, spanId: 8, parentSpanId: 8 };

// OTLP writes ids in hexadecimal, where JSON of protobuf has base64.
function map_ids(value, change) {
  if (Array.isArray(value)) return value.map((each) => map_ids(each, change));
  if (value === null || typeof value !== "object" || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) =>
    [name, name in kIds ? change(name, each) : map_ids(each, change)]));
}

function decode(body) {
  const sent = JSON.parse(body);
  const typed = map_ids(sent, (name, text) => {
    assert.match(text, new RegExp(`^[0-9a-f]{${2 * kIds[name]}}$`), name);
    return Buffer.from(text, "hex");
  });
  const message = Request.fromObject(typed);
  assert.equal(Request.verify(message), null);
  const back = Request.toObject(Request.decode(Request.encode(message).finish()),
    { longs: String, enums: Number, bytes: Buffer, json: true });
  const text = map_ids(back, (_, bytes) => Buffer.from(bytes).toString("hex"));
  // What is empty is not on the wire.
  const without_empty = (value) => JSON.parse(JSON.stringify(value, (name, each) =>
    Array.isArray(each) && each.length === 0 ? undefined : each));
  assert.deepEqual(without_empty(text), without_empty(sent));
  return sent;
}

const spans = [];
const complaints = [];
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    try {
      assert.equal(request.url, "/v1/traces");
      assert.equal(request.headers["content-type"], "application/json");
      for (const each of decode(body).resourceSpans) {
        assert.deepEqual(each.resource.attributes,
          [{ key: "service.name", value: { stringValue: 'shop "north"' } }]);
        for (const scope of each.scopeSpans) spans.push(...scope.spans);
      }
    } catch (error) {
      complaints.push(error);
    }
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
});

function check_spans(made) {
  assert.equal(spans.length, made.length);
  const by_id = new Map(spans.map((span) => [span.spanId, span]));
  assert.equal(by_id.size, spans.length, "no two spans have one id");
  for (const each of made) {
    const [, trace, id] = each.traceparent.split("-");
    const span = by_id.get(id);
    assert.ok(span, each.name);
    assert.equal(span.traceId, trace);
    assert.ok(span.name.startsWith(each.name));
    assert.equal(span.status.code === 2, each.failed);
    assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano));
    if (each.name !== "leaf") continue;
    const value = Object.fromEntries(span.attributes.map((one) => [one.key, one.value]));
    assert.deepEqual(value.negative, { intValue: "-9223372036854775808" });
    assert.deepEqual(value.large, { intValue: "9223372036854775807" });
    assert.deepEqual(value.half, { doubleValue: 0.5 });
    assert.deepEqual(value.huge, { doubleValue: 1e300 });
    assert.deepEqual(value.text, { stringValue: 'a\tb"c\\d\u0001 \u20ac' });
    assert.equal(by_id.get(span.parentSpanId).name, "work");
  }
}

// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
const kMembers = {
  X: ["name", "ts", "dur", "pid", "tid"],
  b: ["name", "cat", "id", "ts", "pid"],
  e: ["name", "cat", "id", "ts", "pid"],
  s: ["name", "cat", "id", "ts", "pid", "tid"],
  f: ["name", "cat", "id", "ts", "pid", "tid"],
  C: ["name", "ts", "pid", "args"],
  M: ["name", "pid", "args"],
  i: ["name", "ts", "pid", "tid", "s"],
};
function check_trace(text) {
  const file = JSON.parse(text);
  const events = Array.isArray(file) ? file : file.traceEvents;
  assert.ok(events.length > 1000);
  const open = new Map();
  for (const event of events) {
    assert.ok(event.ph in kMembers, `phase ${event.ph}`);
    for (const name of kMembers[event.ph]) assert.ok(name in event, `${event.ph} has ${name}`);
    for (const name of ["ts", "dur", "pid", "tid"]) {
      if (name in event) assert.equal(typeof event[name], "number");
    }
    if (event.ph === "X") assert.ok(event.dur >= 0);
    const pair = { b: "e", s: "f" }[event.ph] ?? event.ph;
    if (pair !== "e" && pair !== "f") continue;
    const key = `${pair} ${event.cat} ${event.id}`;
    const ends = open.get(key) ?? [];
    open.set(key, [...ends, event]);
  }
  // One begins, it ends, and then another one with the same id may begin.
  for (const [key, ends] of open) {
    ends.forEach((event, i) => {
      const begins = event.ph === "b" || event.ph === "s";
      assert.equal(begins, i % 2 === 0, `${key}: number ${i} is ${event.ph}`);
      assert.ok(i === 0 || ends[i - 1].ts <= event.ts, `${key}: number ${i} is earlier`);
    });
    assert.equal(ends.length % 2, 0, `${key} has an end for each beginning`);
  }
  return events.length;
}

await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const file = path.resolve(directory, "trace.json");
const child = spawn(program, [String(server.address().port), file],
  { stdio: ["ignore", "pipe", "inherit"], timeout: 60_000 });
let output = "";
child.stdout.on("data", (part) => (output += part));
const code = await new Promise((ended) => child.on("close", ended));
server.close();
server.closeAllConnections();
assert.equal(code, 0, "the program ended well");
if (complaints.length > 0) throw complaints[0];
check_spans(output.trim().split("\n").map((line) => JSON.parse(line)));
const events = check_trace(readFileSync(file, "utf8"));
console.log(`${spans.length} spans decoded, as they were made; ${events} events of a trace file`);
