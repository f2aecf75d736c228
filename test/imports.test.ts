/** Imports go one way: the folders' order, and nothing of chance or of the wall clock in logic. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** What each folder may import of ours. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  streams: ['streams'],
  model: ['model', 'streams'],
  operators: ['operators', 'streams', 'model'],
  sources: ['sources', 'streams', 'model', 'operators'],
  sinks: ['sinks', 'streams', 'model', 'operators'],
  jobs: ['jobs', 'sources', 'sinks', 'operators', 'streams', 'model'],
  cli: ['cli', 'jobs', 'sources', 'sinks', 'operators', 'streams', 'model'],
};
/** Operators take interfaces: of the model, only what has no engine behind it; of the streams, no concrete log. */
const OPERATORS_MODEL = [
  'model/engine.ts',
  'model/draws.ts',
  'model/sampling.ts',
  'model/semaphore.ts',
];
/** The model knows no stream: it shares the base of errors and the clock with everything else, and those alone. */
const MODEL_STREAMS = ['streams/clock.ts', 'streams/errors.ts'];

function sources(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.m?ts$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** Import statements that survive compilation, and those of types, by file. */
function imports(file: string): { target: string; typeOnly: boolean }[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+'(\.[^']+)'/gm)].map(
    (match) => ({
      target: relative(ROOT, resolve(ROOT, dirname(file), match[2]!)),
      typeOnly: match[1] !== undefined,
    }),
  );
}

describe('imports', () => {
  test.each(Object.keys(MAY))('of %s go to the folders below it alone', (folder) => {
    const wrong = sources(folder).flatMap((file) =>
      imports(file)
        .filter(({ target }) => !MAY[folder]!.includes(target.split('/')[0]!))
        .map(({ target }) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('of operators reach no concrete engine and no concrete log', () => {
    const wrong = sources('operators').flatMap((file) =>
      imports(file)
        .filter(
          ({ target }) =>
            (target.startsWith('model/') && !OPERATORS_MODEL.includes(target)) ||
            target.startsWith('streams/embedded'),
        )
        .map(({ target }) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('of the model reach the base of errors alone among the streams', () => {
    const wrong = sources('model').flatMap((file) =>
      imports(file)
        .filter(({ target }) => target.startsWith('streams/') && !MODEL_STREAMS.includes(target))
        .map(({ target }) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('are found at all', () => {
    expect(imports('operators/rollout.ts').length).toBeGreaterThan(3);
  });
});

describe('logic', () => {
  test.each(Object.keys(MAY))(
    'of %s draws from the keyed generator, never from chance',
    (folder) => {
      const wrong = sources(folder).filter((file) =>
        /Math\.random\s*\(|randomUUID|randomBytes/.test(readFileSync(join(ROOT, file), 'utf8')),
      );
      expect(wrong).toEqual([]);
    },
  );
});
