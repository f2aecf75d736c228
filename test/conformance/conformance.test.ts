/**
 * The vectors of this repository, a small choice of outputs of the published implementations, hold.
 * `npm run conformance -- PATH` runs more of them.
 */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { compare } from './compare.ts';
import { subjects } from './registry.ts';
import { runVectorFile } from './run.ts';
import { Skipped } from './subject.ts';
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
      expect(report.passed).toBeGreaterThan(0);
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
    expect(report).toMatchObject({ passed: 1, failed: 1, skipped: 0, worstError: 0.2 });
    expect(report.mismatches).toEqual(['b at the value: got 4, want 5']);
  });

  test('fails every case of a subject that nobody registered', async () => {
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
    expect(report).toMatchObject({ passed: 1, failed: 1, skipped: 1 });
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
  ])('takes %s as it should', (_, got, want, equal) => {
    expect(compare(got, want, 1e-6).difference === null).toBe(equal);
  });
});
