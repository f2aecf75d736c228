/** Imports go one way: the folders' order, and nothing of chance or of the wall clock in logic. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** What each folder may import of ours. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  base: ['base'],
  jinja: ['jinja'],
  streams: ['streams', 'base'],
  topics: ['topics', 'streams', 'base'],
  model: ['model', 'jinja', 'base'],
  operators: ['operators', 'topics', 'streams', 'model', 'base'],
  sources: ['sources', 'topics', 'streams', 'model', 'base'],
  sinks: ['sinks', 'topics', 'streams', 'model', 'base'],
  jobs: ['jobs', 'sources', 'sinks', 'operators', 'topics', 'streams', 'model', 'base'],
  testing: ['testing', 'operators', 'topics', 'streams', 'model', 'base'],
  summary: ['summary', 'operators', 'topics', 'streams', 'model', 'base'],
  'page/wire': ['page/wire', 'summary'],
  'page/server': [
    'page/server',
    'page/wire',
    'summary',
    'operators',
    'topics',
    'streams',
    'model',
    'base',
  ],
  // Bundled for the browser: of ours only what is pure.
  'page/browser': ['page/browser', 'page/wire', 'summary', 'base'],
  cli: [
    'cli',
    'page/server',
    'page/wire',
    'summary',
    'jobs',
    'sources',
    'sinks',
    'operators',
    'topics',
    'streams',
    'model',
    'base',
  ],
};
/** The room a file is in: a folder, or one of the live page's three. */
function roomOf(file: string): string {
  return Object.keys(MAY).find((room) => file.startsWith(`${room}/`)) ?? file.split('/')[0]!;
}

/** Operators take interfaces: of the model, only what has no engine behind it; of the streams, no concrete log. */
const OPERATORS_MODEL = /^model\/(engine|sampling|encoder\/encoder)\.ts$|^model\/credit\//;

function sources(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.m?tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** Files of ours that a file imports: statements, types included, and `import('…')`. */
function imports(file: string): { target: string }[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) => ({
    target: relative(ROOT, resolve(ROOT, dirname(file), match[1]!)),
  }));
}

/** Each circle of imports, as the files on it. */
function circles(
  files: readonly string[],
  importsOf: (file: string) => readonly string[],
): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const start = path.indexOf(file);
    if (start >= 0) found.push([...path.slice(start), file].join(' → '));
    if (start >= 0 || done.has(file)) return;
    path.push(file);
    for (const target of importsOf(file)) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of files) visit(file);
  return found;
}

describe('imports', () => {
  test.each(Object.keys(MAY))('of %s go to the folders below it alone', (folder) => {
    const wrong = sources(folder).flatMap((file) =>
      imports(file)
        .filter(({ target }) => !MAY[folder]!.includes(roomOf(target)))
        .map(({ target }) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('of operators reach no concrete engine and no concrete log', () => {
    const wrong = sources('operators').flatMap((file) =>
      imports(file)
        .filter(
          ({ target }) =>
            (target.startsWith('model/') && !OPERATORS_MODEL.test(target)) ||
            target.startsWith('streams/embedded'),
        )
        .map(({ target }) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('make no circle, those of types included', () => {
    const folders = [...Object.keys(MAY), 'bench', 'scripts', 'examples', 'test'];
    const ours = [...folders.flatMap(sources), 'index.ts'];
    const importsOf = (file: string) => imports(file).map(({ target }) => target);
    const existing = (file: string) => importsOf(file).filter((it) => existsSync(join(ROOT, it)));
    const found = circles(ours, existing);
    expect(found).toEqual([]);
  });

  test('are found at all', () => {
    expect(imports('operators/rollout.ts').length).toBeGreaterThan(3);
    const graph: Record<string, string[]> = { a: ['b', 'c'], b: ['c', 'd'], c: [], d: ['a'] };
    expect(circles(['a', 'c'], (file) => graph[file]!)).toEqual(['a → b → d → a']);
  });
});

/** A secret must not be computable from a seed. */
const SECRETS = ['page/server/http/secret.ts'];

describe('logic', () => {
  test.each(Object.keys(MAY))(
    'of %s draws from the keyed generator, never from chance',
    (folder) => {
      const logic = sources(folder).filter((file) => !SECRETS.includes(file));
      const wrong = logic.filter((file) =>
        /Math\.random\s*\(|randomUUID|randomBytes/.test(readFileSync(join(ROOT, file), 'utf8')),
      );
      expect(wrong).toEqual([]);
    },
  );
});
