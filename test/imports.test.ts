/** Imports go one way, and through doors; nothing in logic is left to chance. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

const JOBS = [
  'jobs',
  'gateway',
  'sources',
  'sinks',
  'operators',
  'topics',
  'streams',
  'model',
  'base',
];

/** What each room may import of this package. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  base: ['base'],
  jinja: ['jinja'],
  streams: ['streams', 'base'],
  topics: ['topics', 'streams', 'base'],
  model: ['model', 'jinja', 'base'],
  operators: ['operators', 'topics', 'streams', 'model', 'base'],
  gateway: ['gateway', 'operators', 'topics', 'streams', 'model', 'base'],
  sources: ['sources', 'topics', 'streams', 'model', 'base'],
  sinks: ['sinks', 'topics', 'streams', 'model', 'base'],
  // A ready job is written as a user would write it: with public names.
  'jobs/ready': ['jobs/ready', 'api', ...JOBS],
  jobs: JOBS,
  simulate: ['simulate', 'testing', 'jobs', 'operators', 'topics', 'streams', 'model', 'base'],
  api: ['api', 'testing', 'jinja', ...JOBS],
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
    'simulate',
    'page/server',
    'page/wire',
    'summary',
    'jobs/ready',
    'jobs',
    'gateway',
    'sources',
    'sinks',
    'operators',
    'topics',
    'streams',
    'model',
    'base',
  ],
};
/** The room a file is in: a folder at the top, one of the live page's three, or the ready jobs. */
function roomOf(file: string): string {
  return Object.keys(MAY).find((room) => file.startsWith(`${room}/`)) ?? file.split('/')[0]!;
}

/** Ready jobs are a room to the direction of imports alone: they are in `jobs`. */
function sameRoom(a: string, b: string): boolean {
  return a === b || [a, b].every((room) => room.startsWith('jobs'));
}

/** Operators take interfaces: of the model, only what needs no engine. */
const OPERATORS_MODEL = [
  'model/index.ts',
  'model/chat/index.ts',
  'model/credit/index.ts',
  'model/encoder/index.ts',
];

/** What is loaded only where it is used, and the doors that may load it at once. */
const HEAVY: Readonly<Record<string, readonly string[]>> = {
  'onnxruntime-node': [
    'model/tinker/index.ts',
    'jobs/parts/index.ts',
    'jobs/ready/index.ts',
    'jobs/sft/index.ts',
  ],
  '@platformatic/kafka': ['streams/kafka/index.ts'],
  kafkajs: [],
  pyodide: [],
  usearch: [],
  unpdf: [],
  mammoth: [],
  'read-excel-file': [],
  fflate: [],
  linkedom: [],
  hyparquet: [],
  'hyparquet-writer': ['sinks/tables/index.ts'],
  'prom-client': ['summary/prometheus/index.ts'],
};

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

/** Doors of public names are written by hand, and hold what users need. */
const PUBLIC = ['topics/index.ts', 'jinja/index.ts', 'testing/index.ts'];

function isDoor(file: string): boolean {
  return file.endsWith('/index.ts') || file.startsWith('api/');
}

const doors = Object.keys(MAY)
  .filter((room) => !['api', 'cli', 'testing', 'jobs/ready'].includes(room))
  .flatMap(sources)
  .filter((file) => isDoor(file) && !PUBLIC.includes(file));

/** Names in braces: `type A, b as c` → A, b (`passed on` gives what they are called outside: A, c). */
function names(list: string, side: 'inside' | 'outside' = 'outside'): string[] {
  return list
    .split(',')
    .map((one) => one.trim().replace(/^type /, ''))
    .filter((one) => one !== '')
    .map((one) => one.split(' as ').at(side === 'inside' ? 0 : -1)!);
}

/** What other rooms import by each door. */
const taken = new Map<string, Set<string>>();
for (const file of Object.keys(MAY).flatMap(sources)) {
  const text = readFileSync(join(ROOT, file), 'utf8');
  for (const [, list, path] of text.matchAll(
    /\{([^{}]*)\}(?: from|\s*=\s*await import\()\s*'(\.[^']+)'/g,
  )) {
    const door = relative(ROOT, resolve(ROOT, dirname(file), path!));
    if (!isDoor(door) || sameRoom(roomOf(door), roomOf(file))) continue;
    const used = taken.get(door) ?? new Set();
    for (const name of names(list!, 'inside')) used.add(name);
    taken.set(door, used);
  }
}

/** The packages that are loaded with a file, types left out, by the statements of all files that it loads. */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  const found = new Set<string>();
  if (seen.has(file)) return found;
  seen.add(file);
  const text = readFileSync(join(ROOT, file), 'utf8');
  for (const [, list, from] of text.matchAll(
    /^(?:import|export) (?!type )([^'";]*?)(?: from )?'([^']+)';/gm,
  )) {
    const onlyTypes =
      list!.includes('{') &&
      /^\{[^}]*\}$/.test(list!) &&
      list!
        .slice(1, -1)
        .split(',')
        .every((one) => /^\s*(type |$)/.test(one));
    if (onlyTypes) continue;
    if (!from!.startsWith('.'))
      found.add(
        from!
          .split('/')
          .slice(0, from!.startsWith('@') ? 2 : 1)
          .join('/'),
      );
    else
      for (const one of packagesOf(relative(ROOT, resolve(ROOT, dirname(file), from!)), seen))
        found.add(one);
  }
  return found;
}

describe('imports', () => {
  test.each(Object.keys(MAY))('of %s go to the rooms below it alone', (folder) => {
    const own = sources(folder).filter((file) => roomOf(file) === folder);
    const wrong = own.flatMap((file) =>
      imports(file)
        .filter(({ target }) => !MAY[folder]!.includes(roomOf(target)))
        .map(({ target }) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test.each(Object.keys(MAY))('of %s into other rooms go through their doors', (folder) => {
    const wrong = sources(folder).flatMap((file) =>
      imports(file)
        .filter(({ target }) => !sameRoom(roomOf(target), roomOf(file)) && !isDoor(target))
        .map(({ target }) => `${file} imports ${target}, not the index.ts beside it`),
    );
    expect(wrong).toEqual([]);
  });

  test.each(doors)('by %s are what it passes on, and each name is used in another room', (door) => {
    const text = readFileSync(join(ROOT, door), 'utf8').replace(/^\/\*\*[\s\S]*?\*\/\n/, '');
    expect(text.replace(/export (type )?(\{[^}]*\}|\* as \w+) from '\.\/[^']+';/g, '').trim()).toBe(
      '',
    );
    const passedOn = [...text.matchAll(/export (?:type )?\{([^}]*)\}|export \* as (\w+)/g)].flatMap(
      ([, list, one]) => (one === undefined ? names(list!) : [one]),
    );
    expect(passedOn.length).toBeGreaterThan(0);
    expect(passedOn.filter((name) => !taken.get(door)?.has(name))).toEqual([]);
  });

  test.each(Object.keys(HEAVY))('of %s are not made by a door', (heavy) => {
    const loading = doors.filter((door) => packagesOf(door).has(heavy));
    expect(loading).toEqual(HEAVY[heavy]);
  });

  test('of operators reach no concrete engine and no concrete log', () => {
    const wrong = sources('operators').flatMap((file) =>
      imports(file)
        .filter(
          ({ target }) =>
            (target.startsWith('model/') && !OPERATORS_MODEL.includes(target)) ||
            /^streams\/(embedded|kafka)/.test(target),
        )
        .map(({ target }) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('form no circle, even of types', () => {
    const folders = [...Object.keys(MAY), 'bench', 'scripts', 'examples', 'test'];
    const ours = folders.flatMap(sources);
    const importsOf = (file: string) => imports(file).map(({ target }) => target);
    const existing = (file: string) => importsOf(file).filter((it) => existsSync(join(ROOT, it)));
    const found = circles(ours, existing);
    expect(found).toEqual([]);
  });

  test('are found by the parser of this test', () => {
    expect(imports('operators/rollout.ts').length).toBeGreaterThan(3);
    const graph: Record<string, string[]> = { a: ['b', 'c'], b: ['c', 'd'], c: [], d: ['a'] };
    expect(circles(['a', 'c'], (file) => graph[file]!)).toEqual(['a → b → d → a']);
  });
});

/** Words of what is built on the streams; `cleanup.policy` is Kafka's. */
const ABOVE_STREAMS =
  /rollout|question|reward|curriculum|\btrain|\bweights\b|(?<!cleanup\.)polic(y|ies)/i;

test('streams/ knows nothing of rollouts or training, in comments neither', () => {
  const lines = sources('streams').flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(lines.length).toBeGreaterThan(1000);
  expect(lines.filter((line) => ABOVE_STREAMS.test(line))).toEqual([]);
});

/** A secret must not be computable from a seed. */
const SECRETS = ['base/secrets.ts'];

describe('logic', () => {
  test.each(Object.keys(MAY))(
    'of %s draws from the keyed generator, never from Math.random',
    (folder) => {
      const logic = sources(folder).filter((file) => !SECRETS.includes(file));
      const wrong = logic.filter((file) =>
        /Math\.random\s*\(|randomUUID|randomBytes/.test(readFileSync(join(ROOT, file), 'utf8')),
      );
      expect(wrong).toEqual([]);
    },
  );
});
