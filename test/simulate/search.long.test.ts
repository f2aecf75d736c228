import { describe, expect, test } from '@jest/globals';
import { mutants } from '../../simulate/mutants/mutants.ts';
import { search } from './search.ts';

test('the first 100 histories keep all laws', async () => {
  const { code, out } = await search('--seeds', '100');
  expect(out).not.toMatch(/breaks/);
  expect(code).toBe(0);
});

describe('the search finds what is planted:', () => {
  test.each(mutants)('$about', async ({ name, seed, seeds }) => {
    const known = await search('--mutant', name, '--seed', String(seed));
    // What a seed draws changes with the world; the bound holds still.
    const { code, out } =
      known.code === 1 ? known : await search('--mutant', name, '--seeds', String(seeds));
    expect(out).toMatch(/seed \d+ breaks/);
    expect(code).toBe(1);
  });
});
