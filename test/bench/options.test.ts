import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import {
  amount,
  count,
  counts,
  flag,
  helpText,
  oneOf,
  parseOptions,
  positive,
  someOf,
  whole,
} from '../../bench/options.ts';

const benchmark = {
  command: 'npm run bench:x',
  measures: 'One thing beside another.',
  options: {
    kills: whole('how many', 200),
    steps: count('how long', 48),
    sigma: amount('how wide', 0.5),
    minutes: positive('how long', 5),
    workers: counts('how many', [1, 2, 4]),
    log: oneOf('where', ['embedded', 'kafka']),
    only: someOf('only these', ['a', 'b', 'c']),
    loud: flag('say more'),
  },
};
const parsed = (...args: readonly string[]) => parseOptions(benchmark, args);
const told = (...args: readonly string[]): string => {
  try {
    parsed(...args);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};

describe('options of a benchmark', () => {
  test('are what is given, and else their defaults', () => {
    const defaults = {
      ...{ kills: 200, steps: 48, sigma: 0.5, minutes: 5, workers: [1, 2, 4] },
      ...{ log: 'embedded', only: ['a', 'b', 'c'], loud: false, json: false, help: false },
    };
    expect(parsed()).toEqual(defaults);
    expect(parsed('--kills', '0', '--log=kafka', '--only', 'c,a', '--loud', '--json')).toEqual({
      ...defaults,
      ...{ kills: 0, log: 'kafka', only: ['a', 'c'], loud: true, json: true },
    });
    expect(parsed('--sigma', '0', '--minutes', '.1', '--workers', '3')).toEqual({
      ...defaults,
      ...{ sigma: 0, minutes: 0.1, workers: [3] },
    });
  });

  test('are told on request, with their defaults, whatever else is given', () => {
    expect(parsed('--help', '--kills', 'abc')).toBeNull();
    const help = helpText(benchmark);
    expect(help).toContain('Usage: npm run bench:x [-- options]\n\nOne thing beside another.');
    expect(help).toMatch(/--kills <N> +how many \(default: 200\)\n/);
    expect(help).toMatch(/--log <embedded\|kafka> +where \(default: embedded\)\n/);
    expect(help).toMatch(/--loud +say more\n/);
  });

  test.each([
    [['--kills', 'abc'], '--kills takes a whole number, 0 or more; given: abc'],
    [['--kills', '1.5'], '--kills takes a whole number, 0 or more; given: 1.5'],
    [['--kills', '--json'], '--kills takes a whole number, 0 or more; given: --json'],
    [['--kills'], '--kills takes a whole number, 0 or more'],
    [['--steps', '0'], '--steps takes a whole number above 0; given: 0'],
    [['--sigma=-1'], '--sigma takes a number, 0 or more; given: -1'],
    [['--minutes', '0'], '--minutes takes a number above 0; given: 0'],
    [['--workers', '1,,2'], '--workers takes whole numbers above 0, with commas between them'],
    [['--log', 'foo'], '--log takes embedded or kafka; given: foo'],
    [['--only', 'a,d'], '--only takes some of a,b,c; given: a,d'],
    [['--loud=1'], '--loud takes no value'],
    [['--kill', '3'], 'there is no option --kill, did you mean --kills?'],
    [['--constructor'], 'there is no option --constructor;'],
    [['3'], '"3" belongs to no option'],
  ])('%j is refused with what to do', (args, why) => {
    expect(told(...args)).toContain(why);
    expect(told(...args)).toMatch(/; npm run bench:x -- --help tells .*$/);
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

test('there are benchmarks', () => expect(entries.length).toBeGreaterThan(8));

test.each(entries)(
  'npm run %s tells its options, and refuses others',
  async (name, file) => {
    const [help, bad] = await Promise.all([started(file, '--help'), started(file, '--sped', '1')]);
    expect(help).toEqual({
      ...{ code: 0, err: '' },
      out: expect.stringContaining(`Usage: npm run ${name} [-- options]\n`),
    });
    const err = `error: there is no option --sped; npm run ${name} -- --help tells the options of this benchmark\n`;
    expect(bad).toEqual({ code: 2, out: '', err: expect.stringMatching(/^error: .*\n$/) });
    expect(bad.err.replace(/, did you mean --\w+\?/, '')).toBe(err);
  },
  120_000,
);
