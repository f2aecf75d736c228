/**
 * Builds the page into dist/page/browser: `index.html`, and under `assets/` what it loads, with hashes in the
 * names so that a browser may keep them forever. `bundle.json` names them (for the page frozen into one
 * file); `licences.txt` holds the notices of the packages that are bundled in. Run by `npm run build`.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { minify } from '@swc/core';
import { type BuildOptions, build, type Plugin } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const here = join(root, 'page/browser');
const out = join(root, 'dist/page/browser');

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'assets'), { recursive: true });

/** Writes an asset and returns its address. */
function asset(name: string, body: string | Uint8Array): string {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 8);
  const file = name.replace('.', `-${hash}.`);
  writeFileSync(join(out, 'assets', file), body);
  return `/assets/${file}`;
}

/**
 * uPlot without what only other charts need (bars, splines, joins of data, dates as text): removes the
 * statements at its end that name them, so that the bundler drops them. Fails if they are missing.
 */
const linesOnly: Plugin = {
  name: 'uPlot: lines only',
  setup({ onLoad }) {
    onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const [from, to] = [text.indexOf('\nuPlot.assign = '), text.indexOf('\nexport {')];
      if (from < 0 || to < from) throw new Error(`${path} does not end as uPlot 1.6 does`);
      return { contents: text.slice(0, from) + text.slice(to), loader: 'js' };
    });
  },
};

/** The result of bundling an entry file, by its ending. */
async function bundled(
  entry: string,
  more: BuildOptions = {},
): Promise<(ending: string) => string> {
  const { outputFiles = [] } = await build({
    entryPoints: [join(here, entry)],
    outdir: join(out, 'assets'),
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    tsconfigRaw: {},
    charset: 'utf8',
    legalComments: 'none',
    write: false,
    logLevel: 'warning',
    plugins: [linesOnly],
    ...more,
  });
  return (ending) => outputFiles.find(({ path }) => path.endsWith(ending))!.text;
}

/** esbuild minifies file by file; swc finds another 5 % (compressed) in the whole. */
async function script(text: string): Promise<string> {
  const compress = { passes: 3, keep_fargs: false, pure_getters: true };
  return (await minify(text, { compress, mangle: true, module: false })).code;
}

const page = await bundled('main.tsx', {
  // Calls of `h` are 0.8 kB smaller, compressed, than those of the automatic runtime.
  jsx: 'transform',
  jsxFactory: 'h',
  jsxFragment: 'Fragment',
  inject: [join(here, 'jsx.ts')],
});
// An injected file stays even in a bundle that does not use it, so the worker, which draws nothing, is built
// without it.
const worker = await bundled('worker.ts');

const bundle = {
  script: asset('page.js', await script(page('.js'))),
  style: asset('page.css', page('.css')),
  worker: asset('worker.js', await script(worker('.js'))),
  icon: asset('icon.svg', readFileSync(join(here, 'icon.svg'))),
};
const index = readFileSync(join(here, 'index.html'), 'utf8').replace(
  /\{\{(\w+)\}\}/g,
  (_, name: keyof typeof bundle) => bundle[name],
);
writeFileSync(join(out, 'index.html'), index);
writeFileSync(join(out, 'bundle.json'), `${JSON.stringify(bundle, null, 2)}\n`);

const packages = ['preact', '@preact/signals', '@preact/signals-core', 'uplot'];
const notices = packages.map((name) => {
  const notice = readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8').trim();
  return `${name}\n\n${notice}\n`;
});
writeFileSync(join(out, 'licences.txt'), notices.join(`\n${'-'.repeat(80)}\n\n`));
