// What is checked in is what the sources make, and stays small.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { bundle } from '../scripts/build.mjs';
import { typesText } from '../scripts/types.mjs';

const root = new URL('..', import.meta.url).pathname;
const dist = join(root, 'dist');
const filesOf = (directory) => readdirSync(directory).sort();

test('the types of the API are those of its schemas', () => {
  assert.equal(readFileSync(join(root, 'src/api_types.ts'), 'utf8'), typesText(), 'npm run types');
});

test('the sources have no errors of types', () => {
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit'], {
    cwd: root,
    stdio: 'inherit',
  });
});

test('the bundle that is checked in is made from the sources', async () => {
  const fresh = mkdtempSync(join(tmpdir(), 'tiffany-bundle-'));
  try {
    await bundle(fresh);
    assert.deepEqual(filesOf(dist), filesOf(fresh), 'npm run build');
    for (const name of filesOf(dist)) {
      assert.ok(readFileSync(join(dist, name)).equals(readFileSync(join(fresh, name))), name);
    }
  } finally {
    rmSync(fresh, { recursive: true });
  }
});

test('the bundle has at most 150 KB, 60 KB compressed', () => {
  const texts = filesOf(dist).map((name) => readFileSync(join(dist, name)));
  const raw = texts.reduce((sum, text) => sum + text.length, 0);
  const packed = texts.reduce((sum, text) => sum + gzipSync(text).length, 0);
  console.log(`bundle: ${raw} bytes, ${packed} compressed`);
  assert.ok(raw < 150_000 && packed < 60_000);
});

test('nothing in the bundle names another place', () => {
  for (const name of filesOf(dist)) {
    const urls = readFileSync(join(dist, name), 'utf8').match(/https?:\/\/[^\s"'`)]+/g) ?? [];
    const foreign = urls.filter((url) => !url.startsWith('http://www.w3.org/'));
    assert.deepEqual(foreign, [], name);
  }
});

test('each test that the table names is there', () => {
  const files = readdirSync(join(root, 'test')).filter((name) => name.endsWith('.test.mjs'));
  const text = files.map((name) => readFileSync(join(root, 'test', name), 'utf8')).join('');
  const table = readFileSync(join(root, 'test/README.md'), 'utf8').split('\n## ').slice(1).join('');
  const named = [...table.matchAll(/`([^`]+)`/g)].map((found) => found[1]);
  const missing = named.filter(
    (name) => /^(?!\.\/).* /.test(name) && !text.includes(`test('${name}'`),
  );
  assert.deepEqual(missing, []);
  assert.ok(named.length > 50);
});
