/** docs/errors.md and the codes of the errors that the code throws. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ROOT } from '../support/exports.ts';

const ROOMS = ['base', 'cli', 'jinja', 'jobs', 'model', 'operators', 'page', 'sinks', 'sources'];
const code = [...ROOMS, 'simulate/plan', 'streams', 'summary', 'testing', 'topics']
  .flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => readFileSync(join(ROOT, room, file), 'utf8')),
  )
  .map((text) => text.replace(/\/\*\*[\s\S]*?\*\//g, ''))
  .join('\n');

const CODE = /['`]([A-Z][A-Z_]+)['`]/g;
const codesIn = (text: string): string[] => [...text.matchAll(CODE)].map(([, found]) => found!);

const quoted = new Set(codesIn(code));
/** The first argument of `new MillraceError`, which may choose between several. */
const thrown = new Set(
  [...code.matchAll(/new MillraceError\(([^,]*),/g)].flatMap(([, first]) => codesIn(first!)),
);

const page = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8');
const listed = [...page.matchAll(/^- (`[A-Z_`, ]*): /gm)].flatMap(([, codes]) => codesIn(codes!));

describe('docs/errors.md', () => {
  test('has every code that is thrown', () => {
    expect(thrown.size).toBeGreaterThan(100);
    expect([...thrown].filter((one) => !listed.includes(one))).toEqual([]);
  });

  test('has no code that is never thrown', () => {
    expect(listed.filter((one) => !quoted.has(one))).toEqual([]);
  });

  test('has each code once', () => {
    expect(listed.filter((one, i) => listed.indexOf(one) !== i)).toEqual([]);
  });
});
