/**
 * The entry points of the package: few names at the root, each with a comment, and what the docs import
 * exists.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { exportsOf, namesIn, ROOT } from './support/exports.ts';

const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};

/** `millrace/streams` → streams/index.ts */
const entries = new Map(
  Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'string'
      ? []
      : [
          [
            path.replace('.', 'millrace'),
            target.default.replace(/^\.\/dist\/(.*)\.js$/, '$1.ts'),
          ] as const,
        ],
  ),
);

const names = (entry: string): readonly string[] =>
  exportsOf(entries.get(entry)!).map(({ name }) => name);

describe('the public API', () => {
  test('has in its root what a job file needs', () => {
    expect(names('millrace').length).toBeLessThanOrEqual(160);
  });

  test('has no name in its root that is meaningless by itself', () => {
    const vague = ['count', 'room', 'files', 'most', 'pages', 'Key', 'Row', 'Place', 'Step'];
    expect(names('millrace').filter((name) => vague.includes(name))).toEqual([]);
  });

  test.each([...entries.keys()])('documents each name of %s', (entry) => {
    const silent = exportsOf(entries.get(entry)!).filter(({ documented }) => !documented);
    expect(silent.map(({ name, file }) => `${file}: ${name}`)).toEqual([]);
  });

  test('has every name that docs and examples import', () => {
    const files = execFileSync('git', ['ls-files', 'README.md', 'docs', 'examples'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    const imports = files
      .trim()
      .split('\n')
      .flatMap((file) =>
        [
          ...readFileSync(join(ROOT, file), 'utf8').matchAll(
            /import (?:type )?\{([^}]+)\} from '(millrace[^']*)'/g,
          ),
        ].map(([, list, entry]) => ({ file, list: list as string, entry: entry as string })),
      );
    expect(imports.length).toBeGreaterThan(8);
    const missing = imports.flatMap(({ file, list, entry }) =>
      namesIn(list)
        .filter(([name]) => !entries.has(entry) || !names(entry).includes(name))
        .map(([name]) => `${file}: ${name} of ${entry}`),
    );
    expect(missing).toEqual([]);
  });
});
