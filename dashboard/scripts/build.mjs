// Bundles src/ into dist/, or into the directory that is named.
//
// usage: node scripts/build.mjs [directory]
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('..', import.meta.url));

export async function bundle(directory) {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const made = await build({
    absWorkingDir: here,
    entryPoints: ['src/main.tsx', 'src/style.css'],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    outdir: directory,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    metafile: true,
  });
  const names = Object.keys(made.metafile.outputs).map((path) => basename(path));
  const named = (pattern) => names.find((name) => pattern.test(name));
  const icon = readFileSync(resolve(here, 'src/icon.svg'), 'utf8');
  const hash = createHash('sha256').update(icon).digest('hex').slice(0, 8).toUpperCase();
  writeFileSync(resolve(directory, `icon-${hash}.svg`), icon);
  const page = readFileSync(resolve(here, 'src/index.html'), 'utf8')
    .replace('{{script}}', named(/^main-.*\.js$/))
    .replace('{{style}}', named(/^style-.*\.css$/))
    .replace('{{icon}}', `icon-${hash}.svg`);
  writeFileSync(resolve(directory, 'index.html'), page);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundle(resolve(process.argv[2] ?? resolve(here, 'dist')));
}
