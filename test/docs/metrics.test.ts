/** docs/metrics.md and the names of the metrics that the code writes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ROOT } from '../support/exports.ts';

/** What writes metrics. */
const PLACES = ['sinks', 'model/losses', 'operators', 'jobs', 'summary'];
const code = PLACES.flatMap((place) =>
  readdirSync(join(ROOT, place), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(ROOT, place, file), 'utf8')),
).join('\n');

const page = readFileSync(join(ROOT, 'docs', 'metrics.md'), 'utf8');
const rows = [...page.matchAll(/^\| `([^|]+?)` +\|([^|]+)\|([^|]+)\|([^|]+)\|$/gm)].map(
  ([, name, ...cells]) => ({ name: name!, cells: cells.map((cell) => cell!.trim()) }),
);
const listed = rows.map(({ name }) => name);
/** Names with a slash: of the others, code says too many other things. */
const FAMILIES = [
  ...new Set(listed.filter((name) => name.includes('/')).map((name) => name.split('/')[0]!)),
];

describe('docs/metrics.md', () => {
  test('has every metric that is written', () => {
    const written = code.matchAll(new RegExp(`'((?:${FAMILIES.join('|')})/[a-z_]+)'`, 'g'));
    const names = new Set([...written].map(([, name]) => name!));
    expect(names.size).toBeGreaterThan(35);
    expect([...names].filter((name) => !listed.includes(name))).toEqual([]);
  });

  test('has no metric that is never written', () => {
    const known = listed.filter((name) => !/[<@]/.test(name));
    expect(known.filter((name) => !new RegExp(`['. ]${name}\\b`).test(code))).toEqual([]);
  });

  test('says of each metric what it is, its unit and what is healthy', () => {
    expect(rows.length).toBeGreaterThan(45);
    expect(rows.filter(({ cells }) => cells.length < 3 || cells.includes(''))).toEqual([]);
  });
});
