/** What killed processes leave of a run is gone after its next start, and after `doctor --fix`. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { freshFolders } from '../support/folder.ts';
import { fakeIo } from './support/fakeIo.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const job = 'test/cli/fixtures/numbers.job.ts';
const fresh = freshFolders();
const HALF = '000001.safetensors.4194304.tmp';
const STAGED = '.pack-numbers-1-4194304';

async function millrace(...args: string[]) {
  const io = fakeIo(root);
  const code = await main(args, io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

function leave(runs: string, run: string): void {
  mkdirSync(join(runs, run, 'weights'), { recursive: true });
  writeFileSync(join(runs, run, 'weights', HALF), 'half');
  mkdirSync(join(runs, STAGED));
  writeFileSync(join(runs, STAGED, 'log.mdb'), 'half');
}

test('the next start of a run removes the leftovers of killed processes, and says so', async () => {
  const runs = fresh();
  leave(runs, 'one');
  const { code, err } = await millrace('run', job, '--runs', runs, '--run', 'one');
  expect(code).toBe(0);
  expect(err).toContain('removed 2 leftovers of killed processes, 0.0 MB');
  expect(readdirSync(runs)).toEqual(['one']);
  expect(readdirSync(join(runs, 'one', 'weights'))).toEqual([]);
});

test('doctor names the leftovers of killed processes, and removes them with --fix', async () => {
  const runs = fresh();
  await millrace('run', job, '--runs', runs, '--run', 'one');
  leave(runs, 'one');
  const doctor = (...args: string[]) => millrace('doctor', 'one', '--runs', runs, ...args);
  expect((await doctor()).out).toContain(
    `note: 2 leftovers of killed processes, 0.0 MB; the next start removes them, as does npx millrace doctor --runs ${runs} one --fix`,
  );
  expect(readdirSync(join(runs, 'one', 'weights'))).toEqual([HALF]);
  const fixed = await doctor('--fix');
  expect(fixed.err).toContain('removed 2 leftovers');
  expect(fixed.out).not.toContain('leftover');
  expect(readdirSync(runs)).toEqual(['one']);
  expect((await doctor('--fix')).err).toContain('nothing to remove');
});

test('doctor --fix keeps unfinished files while a process writes the run', async () => {
  const runs = fresh();
  await millrace('run', job, '--runs', runs, '--run', 'one');
  const elsewhere = '000001.safetensors.elsewhere-7-1700000000000.tmp';
  mkdirSync(join(runs, 'one', 'weights'), { recursive: true });
  writeFileSync(join(runs, 'one', 'weights', elsewhere), 'half');
  const log = await openLog({ folder: join(runs, 'one', 'log'), mode: 'write' });
  await millrace('doctor', 'one', '--runs', runs, '--fix');
  expect(readdirSync(join(runs, 'one', 'weights'))).toEqual([elsewhere]);
  await log.close();
  await millrace('doctor', 'one', '--runs', runs, '--fix');
  expect(readdirSync(join(runs, 'one', 'weights'))).toEqual([]);
});

test('a command that works next to the runs removes what a killed one left there', async () => {
  const runs = fresh();
  await millrace('run', job, '--runs', runs, '--run', 'one');
  leave(runs, 'one');
  const out = join(fresh(), 'one.tar.gz');
  expect((await millrace('pack', 'one', '--runs', runs, '--output', out)).code).toBe(0);
  expect(readdirSync(runs)).toEqual(['one']);
});
