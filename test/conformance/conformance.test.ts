/**
 * The vectors of this repository, a small choice of outputs of the published implementations, hold.
 * `npm run conformance -- PATH` runs more of them.
 */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { compare } from './compare.ts';
import { subjects } from './registry.ts';
import { runVectorFile } from './run.ts';
import { Skipped, type Subject } from './subject.ts';
import { listVectorFiles, readVectorFile, type VectorFile } from './vectors.ts';

const VECTORS = fileURLToPath(new URL('../vectors', import.meta.url));

const paths = await listVectorFiles([VECTORS]);

describe('published values', () => {
  for (const path of paths) {
    const name = path.slice(path.lastIndexOf('/') + 1, -'.json'.length);
    test(`${name} gives them`, async () => {
      const report = await runVectorFile(await readVectorFile(path), subjects);
      expect(report.mismatches).toEqual([]);
      expect(report.failed).toBe(0);
      const { product, oracle, detour } = report.passed;
      expect(product + oracle + detour).toBeGreaterThan(0);
    }, 600_000);
  }
});

function file(...cases: VectorFile['cases']): VectorFile {
  return { subject: 'double', about: '', tolerance: 1e-6, cases };
}

describe('the runner', () => {
  const double = { double: (args: unknown) => (args as number) * 2 };

  test('counts what passes and what fails, and says where a value differs', async () => {
    const report = await runVectorFile(
      file({ id: 'a', args: 2, expect: 4 }, { id: 'b', args: 2, expect: 5 }),
      double,
    );
    expect(report).toMatchObject({
      passed: { product: 1, oracle: 0, detour: 0 },
      ...{ failed: 1, skipped: 0, worstError: 0.2 },
    });
    expect(report.mismatches).toEqual(['b at the value: got 4, want 5']);
  });

  test('fails every case of a subject that is not registered', async () => {
    const report = await runVectorFile(file({ id: 'a', args: 1, expect: 2 }), {});
    expect(report.failed).toBe(1);
  });

  test('passes an expected throw, fails an unexpected one, and counts a skipped case', async () => {
    const throwing = {
      double: (args: unknown) => {
        throw args === 'skip' ? new Skipped('undecidable') : new Error('broken');
      },
    };
    const report = await runVectorFile(
      file(
        { id: 'a', args: 1, expect: { throws: true } },
        { id: 'b', args: 1, expect: 2 },
        { id: 'c', args: 'skip', expect: 2 },
      ),
      throwing,
    );
    expect(report).toMatchObject({ passed: { product: 1 }, failed: 1, skipped: 1 });
  });

  test('counts apart what an oracle and a detour computed, and says what the product lacks', async () => {
    const driven: Subject = (args, { by }) => {
      if (args === 1) by('oracle', 'no doubling');
      if (args === 3) by('detour', 'odd ones are halved');
      return (args as number) * 2;
    };
    const cases = [1, 1, 2, 3].map((args, i) => ({ id: String(i), args, expect: args * 2 }));
    const report = await runVectorFile(file(...cases), { double: driven });
    expect(report).toMatchObject({
      passed: { product: 1, oracle: 2, detour: 1 },
      notes: ['oracle: no doubling', 'detour: odd ones are halved'],
    });
  });
});

describe('compare', () => {
  test.each([
    ['a number within the tolerance', 1.0000001, 1, true],
    ['a number beyond it', 1.1, 1, false],
    ['a large number relative to itself', 1e9 + 100, 1e9, true],
    ['the text NaN for NaN', Number.NaN, 'NaN', true],
    ['the text Infinity for a finite number', 3, 'Infinity', false],
    ['a string that differs in white space', 'a ', 'a', false],
    ['null for an empty string', null, '', false],
    ['a key too many', { a: 1, b: 2 }, { a: 1 }, false],
    ['a key too few', {}, { a: 1 }, false],
    ['a list in another order', [1, 2], [2, 1], false],
    ['a typed array for a list', Float64Array.of(1, 2), [1, 2], true],
    ['true for 1', true, 1, false],
  ])('judges %s as it should', (_, got, want, equal) => {
    expect(compare(got, want, 1e-6).difference === null).toBe(equal);
  });
});
