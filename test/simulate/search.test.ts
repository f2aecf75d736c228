import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { mutants } from '../../simulate/mutants/mutants.ts';
import { search } from './search.ts';

test('every planted fault still has its place in the built modules', () => {
  const places = mutants.map(({ name, file, find }) => {
    const text = readFileSync(new URL(`../../dist/${file}.js`, import.meta.url), 'utf8');
    return { name, places: text.split(find).length - 1 };
  });
  expect(places.length).toBeGreaterThanOrEqual(12);
  expect(places).toEqual(mutants.map(({ name }) => ({ name, places: 1 })));
});

describe('the search', () => {
  test('ends with 0 and a table where nothing is found', async () => {
    const { code, out } = await search('--seeds', '6');
    expect(out).toMatch(/histories +failed/);
    expect(out).toMatch(/\n +6 +0 /);
    expect(code).toBe(0);
  });

  test('replays a run without an end that was stopped', async () => {
    const { code, out } = await search('--seed', '87', '--faults', 'none');
    expect(out).toMatch(/\n +1 +0 /);
    expect(code).toBe(0);
  });

  test.each(['one-too-many', 'unbounded-reader'])('finds the planted fault %s', async (mutant) => {
    const { code } = await search('--mutant', mutant, '--seeds', '20');
    expect(code).toBe(1);
  });

  test('prints a command that repeats what it finds', async () => {
    const found = await search('--mutant', 'lag-off-by-one', '--seeds', '20');
    const [, args] = /repeat it: npm run search -- (.*) --story/.exec(found.out)!;
    const again = await search(...args!.split(' '));
    // With several workers, which seed is found first may differ: what it finds is that seed's.
    const [, broken] = /breaks .*\n +(.*)\n/.exec(found.out)!;
    expect(again.out).toContain(broken);
    expect(again.code).toBe(1);
  });

  test('says how it is used where it is asked for what there is not', async () => {
    const { code, out } = await search('--faults', 'earthquake');
    expect(code).toBe(2);
    expect(out).toMatch(/there is no fault earthquake\nusage: npm run search/);
  });
});
