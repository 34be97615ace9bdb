// Starts a daemon, checks its OpenAPI document, and calls every operation of it with a client that
// is made of the document. Fails when an answer has a status or a form that the document does not
// say. Run by soak_openapi.sh.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { OpenAPIClientAxios } from "openapi-client-axios";

const home = mkdtempSync(join(tmpdir(), "tiffany-openapi-"));
const data = join(home, "data");
const daemon = spawn(process.env.TIFFANY_DAEMON, [
  "serve", "--data", data, "--listen", "127.0.0.1:0", "--plans", home,
]);
const wrong = [];
const check = (good, text) => good || wrong.push(text);

const base = await new Promise((resolve, reject) => {
  let said = "";
  daemon.stdout.on("data", (piece) => {
    said += piece;
    const found = said.match(/listens on (http:\/\/[0-9.:]+)/);
    if (found) resolve(found[1]);
  });
  daemon.on("exit", () => reject(new Error(`the daemon ended: ${said}`)));
});

try {
  const token = readFileSync(join(data, "admin.token"), "utf8").trim();
  const headers = { authorization: `Bearer ${token}` };
  const text = await (await fetch(`${base}/api/v1/openapi.json`, { headers })).text();
  const validated = await new Validator().validate(JSON.parse(text));
  check(validated.valid, `the document is not valid: ${JSON.stringify(validated.errors)}`);
  const document = JSON.parse(text);
  document.servers = [{ url: base }];
  const schemas = document.components.schemas;
  const api = new OpenAPIClientAxios({
    definition: document,
    axiosConfigDefaults: { headers, validateStatus: () => true, timeout: 20000 },
  });
  const client = await api.init();

  const resolve = (schema) => (schema?.$ref ? schemas[schema.$ref.split("/").pop()] : schema);
  // Whether a value is what the schema says; where it is not, else "".
  const differs = (given, value, at = "$") => {
    const schema = resolve(given) ?? {};
    const kind = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
    const kinds = [].concat(schema.type ?? []);
    const fits = kinds.includes(kind) || (kinds.includes("integer") && Number.isInteger(value));
    if (kinds.length > 0 && !fits) return `${at} is ${kind}, not ${kinds}`;
    if (schema.enum && !schema.enum.includes(value)) return `${at} is ${value}`;
    if (kind === "array") {
      return value.map((each, i) => differs(schema.items, each, `${at}[${i}]`)).find(Boolean) ?? "";
    }
    if (kind !== "object") return "";
    const missing = (schema.required ?? []).find((name) => !(name in value));
    if (missing) return `${at} has no ${missing}`;
    return Object.entries(schema.properties ?? {})
      .filter(([name]) => name in value)
      .map(([name, each]) => differs(each, value[name], `${at}.${name}`))
      .find(Boolean) ?? "";
  };

  const start = (type, args = []) =>
    client.postTasks(null, { type, arguments: args }).then((answer) => answer.data.id);
  const task = await start("survey");
  const other = await start("listener");
  let promise;
  while (!promise) promise = (await client.getPromises()).data.promises[0]?.id;
  const plan = "steps: [{name: a, run: ['true']}]";
  const run = (await client.postPlansRun(null, { text: plan })).data.id;

  // What stands in the place of parameters, and bodies that a schema alone does not tell.
  const places = {
    getTasksTaskQuery: [{ task, name: "stage" }],
    getTasksTaskPlan: [{ task: run }],
    getTasksTaskOutput: [{ task: run, unit: "a" }],
    postTasks: [null, { type: "survey" }],
    postTasksTaskSignal: [{ task: other }, { name: "note", value: "x" }],
    postTasksTaskUpdatesName: [{ task: other, name: "none" }, { value: 1 }],
    postTasksTaskRetry: [{ task: other }, { from: "a#1" }],
    postTasksTaskFork: [{ task: other }, { from: "a#1" }],
    postTasksTaskDecide: [{ task: run }, { approved: true }],
    postPromisesPromise: [{ promise }, { value: "answer" }],
    postSchedules: [null, { name: "s", type: "survey", every: "1h" }],
    getSchedulesName: [{ name: "s" }],
    postSchedulesNameVerb: [{ name: "s", verb: "pause" }],
    deleteSchedulesName: [{ name: "s" }],
    postPlansCheck: [null, { text: plan }],
    postPlansRun: [null, { text: plan }],
    getPlansName: [{ name: "none" }],
    postPromptsName: [{ name: "none" }, {}],
    getResource: [{ uri: "shop://none" }],
    postPlansNameRun: [{ name: "none" }, {}],
    postLevels: [null, { levels: "info" }],
    postTokens: [null, { name: "ann", role: "viewer" }],
    deleteTokensName: [{ name: "ann" }],
    postBackup: [null, { to: join(home, "backup") }],
    postShutdown: [null, { reason: "all is done" }],
  };
  const operations = api.getOperations();
  const rank = ({ method }, id) => (id === "postShutdown" ? 3 : method === "delete" ? 2 : 1);
  operations.sort((a, b) => rank(a, a.operationId) - rank(b, b.operationId));
  let calls = 0;
  for (const operation of operations) {
    const { operationId: id, method, path } = operation;
    ++calls;
    if (path.endsWith("/pal") || path.endsWith("/pal/ws")) {
      const abort = new AbortController();
      const stream = await fetch(base + path, { headers, signal: abort.signal });
      check(stream.status === (path.endsWith("/ws") ? 400 : 200) || stream.status === 426,
        `${method} ${path} answered ${stream.status}`);
      abort.abort();
      continue;
    }
    const [parameters, body] = places[id] ?? [path.includes("{task}") ? { task } : null, null];
    const answer = await client[id](parameters, body ?? (operation.requestBody ? {} : undefined));
    const said = operation.responses[answer.status] ?? operation.responses.default;
    const about = `${method} ${path} answered ${answer.status} ${JSON.stringify(answer.data)}`;
    check(answer.status < 500, about);
    const expected = Object.values(said.content ?? {})[0]?.schema;
    const difference = expected ? differs(expected, answer.data) : "";
    check(difference === "", `${about}: ${difference}`);
    if (answer.status >= 400) console.log(`  ${answer.status} ${method} ${path}`);
  }
  console.log(`${calls} operations were called`);
} finally {
  daemon.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
}
for (const text of wrong) console.error(text);
process.exit(wrong.length === 0 ? 0 : 1);
