/**
 * A real run that was killed in its second round, and what a failing disk may do to the files that it goes on
 * with: it ends with a sentence that names file and version, nothing is made of them, and the way back that
 * it says leads on.
 */
import {
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { builtMillrace, ROOT, sets } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';

const SMALL = {
  'flywheel.questions': 0,
  rounds: 2,
  explore: 4,
  keep: 2,
  heldOut: 2,
  batchGroups: 1,
  rollouts: 2,
  initialRollouts: 2,
  evaluationRollouts: 1,
  responseMax: 120,
  keepVersions: 1,
};
const GONE = { recursive: true, force: true } as const;
const runs = temporaryFolder();
afterAll(() => runs.remove());

interface Said {
  readonly code: number | null;
  readonly said: string;
}

/** `line`: the process is killed as soon as it says so. */
async function millrace(args: readonly string[], line?: RegExp): Promise<Said> {
  const command = builtMillrace(ROOT, ...args, '--runs', runs.path);
  if (line !== undefined) command.signalAt(line, 'SIGKILL');
  const { code, out, err } = await command.ended;
  return { code, said: out + err };
}

test('a run whose log is deleted meanwhile stops with a sentence, and keeps what it has made', async () => {
  const job = ['run', 'examples/quickstart/job.ts', '--run', 'bare', '--seed', '5'];
  const command = builtMillrace(ROOT, ...job, ...sets(SMALL), '--runs', runs.path);
  command.process.stderr!.on('data', () => {
    if (/step 1 /.test(command.said)) rmSync(join(runs.path, 'bare', 'log'), GONE);
  });
  const { code, err } = await command.ended;
  expect([code, err]).toEqual([1, expect.stringMatching(/log\.mdb was removed or replaced/)]);
  expect(existsSync(join(runs.path, 'bare', 'weights', '000001.safetensors'))).toBe(true);
  const doctor = await millrace(['doctor', 'bare']);
  expect([doctor.code, doctor.said]).toEqual([1, expect.stringContaining('no log')]);
});

const VERSION = '000003';
let copies = 0;

/** A copy of the killed run, in which `spoil` damages a file. */
function copyWith(file: string, spoil: (path: string) => void): string {
  const name = `copy-${copies++}`;
  cpSync(join(runs.path, 'killed'), join(runs.path, name), { recursive: true });
  spoil(join(runs.path, name, file));
  return name;
}

function flip(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 64;
  writeFileSync(path, bytes);
}
const cut = (path: string): void => truncateSync(path, 100_000);

describe('a resumed run', () => {
  beforeAll(async () => {
    const job = ['run', 'examples/quickstart/job.ts', '--run', 'killed', '--seed', '5'];
    const command = builtMillrace(ROOT, ...job, ...sets(SMALL), '--runs', runs.path);
    const state = join(runs.path, 'killed', 'weights', `${VERSION}.optimiser.safetensors`);
    // It is written after the step is done.
    const look = setInterval(() => {
      if (/round 2 · step 3/.test(command.said) && existsSync(state))
        command.process.kill('SIGKILL');
    }, 5);
    const { code, err } = await command.ended.finally(() => clearInterval(look));
    expect([code, err]).toEqual([null, expect.stringContaining('round 2 · step 3')]);
    expect(
      statSync(join(runs.path, 'killed', 'weights', `${VERSION}.safetensors`)).size,
    ).toBeGreaterThan(1e6);
  });

  test.each([
    ['a changed bit in the newest weights', `weights/${VERSION}.safetensors`, flip, /has digest/],
    ['newest weights that were cut', `weights/${VERSION}.safetensors`, cut, /cut short/],
    ['newest weights that are gone', `weights/${VERSION}.safetensors`, rmSync, /cannot be opened/],
    [
      'a changed bit in the optimiser',
      `weights/${VERSION}.optimiser.safetensors`,
      flip,
      /has digest/,
    ],
    ['an optimiser that was cut', `weights/${VERSION}.optimiser.safetensors`, cut, /cut short/],
  ])('with %s stops, and says how to go back', async (_what, file, spoil, why) => {
    const name = copyWith(file, (path) => spoil(path));
    const { code, said } = await millrace(['run', '--run', name]);
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(/policy version 3: .*\/weights\/000003/),
    ]);
    expect(said).toMatch(why);
    expect(said).not.toMatch(/step 4/);
    const [, to = ''] =
      /newest intact version: \S+ \S+ rewind --runs \S+ (\S+ --to step=2 --into \S+)/.exec(said) ??
      [];
    expect(to).not.toBe('');
    const back = `rewind ${to}`;
    const doctor = await millrace(['doctor', name]);
    expect([doctor.code, doctor.said]).toEqual([1, expect.stringContaining(file)]);
    if (file.includes('optimiser') || spoil !== flip) return;
    const gone = await millrace(['rewind', name, '--to', 'step=3', '--into', `${name}-bad`]);
    expect([gone.code, gone.said]).toEqual([
      1,
      expect.stringMatching(/DIGEST.*version 3, made by step 3/),
    ]);
    expect((await millrace(back.split(' '))).code).toBe(0);
    const onward = await millrace(['run', '--run', back.split(' ').at(-1)!]);
    expect([onward.code, onward.said]).toEqual([0, expect.stringMatching(/step 4/)]);
  });

  test('whose optimiser file is gone repeats the step, and ends with the same weights', async () => {
    const name = copyWith(`weights/${VERSION}.optimiser.safetensors`, rmSync);
    const whole = copyWith('run.json', () => undefined);
    const { code, said } = await millrace(['run', '--run', name]);
    expect([code, said]).toEqual([0, expect.stringContaining('repeating 1 step from version 2')]);
    expect((await millrace(['run', '--run', whole])).code).toBe(0);
    expect((await millrace(['diff', name, whole])).code).toBe(0);
  });

  test('refuses the bytes of another version under the name of the newest', async () => {
    const name = copyWith(`weights/${VERSION}.safetensors`, (path) => {
      cpSync(path.replace(VERSION, '000002'), path);
    });
    const { code, said } = await millrace(['run', '--run', name]);
    expect([code, said]).toEqual([1, expect.stringMatching(/policy version 3: .* has digest/)]);
  });
});
