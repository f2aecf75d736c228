import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { amount, count, counts, positive, someOf, whole } from '../../bench/options.ts';

describe('the value of an option', () => {
  test('is read by the type of the option', () => {
    expect([whole('0'), count('1'), amount('0'), amount('.5'), positive('.1')]).toEqual([
      ...[0, 1, 0, 0.5, 0.1],
    ]);
    expect(counts('3,1')).toEqual([3, 1]);
    expect(someOf(['a', 'b', 'c'])('c,a')).toEqual(['a', 'c']);
  });

  test.each([
    [whole, 'abc', 'a whole number, 0 or more'],
    [whole, '1.5', 'a whole number, 0 or more'],
    [whole, '--json', 'a whole number, 0 or more'],
    [count, '0', 'a whole number above 0'],
    [count, '', 'a whole number above 0'],
    [counts, '1,,2', 'a whole number above 0'],
    [amount, '-1', 'a number, 0 or more'],
    [positive, '0', 'a number above 0'],
    [positive, 'NaN1', 'a number'],
    [someOf(['a', 'b']), 'a,d', 'some of a,b'],
  ])('is refused by the type %p if it is "%s"', (read, given, needed) => {
    expect(() => read(given)).toThrow(`It must be ${needed}`);
  });
});

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const entries = Object.entries(scripts).flatMap(([name, script]) => {
  const file = /^tsx (bench\/\w+\.ts)$/.exec(script)?.[1];
  return file === undefined ? [] : [[name, file] as const];
});

async function started(file: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', file, ...args]);
  const [out, err] = [text(child.stdout), text(child.stderr)];
  const [code] = await once(child, 'close');
  return { code, out: await out, err: await err };
}

test('package.json names benchmarks', () => expect(entries.length).toBeGreaterThanOrEqual(8));

test.each(entries)('npm run %s lists its options, and refuses others', async (name, file) => {
  const [help, bad] = await Promise.all([started(file, '--help'), started(file, '--jsn')]);
  expect(help).toMatchObject({ code: 0, err: '' });
  expect(help.out).toContain(`Usage: npm run ${name} [-- options]\n`);
  expect(help.out).toContain('--json');
  expect(bad).toEqual({
    code: 2,
    out: '',
    err: `error: unknown option '--jsn'\n(Did you mean --json?)\nnpm run ${name} -- --help lists the options; npm passes on what follows a --\n`,
  });
});
