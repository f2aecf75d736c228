import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { create, extract } from 'tar';
import { main } from '../../../cli/program.ts';
import { readRunRecord, writeRunRecord } from '../../../cli/runRecord.ts';
import { logFolder } from '../../../cli/runs.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { deadLetter } from '../../support/records.ts';
import { tinyRun } from '../../support/tinyRun.ts';
import { fakeIo } from '../support/fakeIo.ts';

const folder = temporaryFolder();
const at = (...path: readonly string[]): string => join(folder.path, ...path);
afterAll(() => folder.remove());

async function millrace(...args: readonly string[]) {
  const io = fakeIo(folder.path, 9000);
  const code = await main(args, io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

beforeAll(async () => {
  await tinyRun(at('runs'), 'first');
  expect((await millrace('pack', 'first')).err).toMatch(/unpack first\.tar\.gz/);
});

test('an unpacked run is sound, and reports the same', async () => {
  const { code, out } = await millrace('unpack', 'first.tar.gz', '--runs', 'there');
  expect({ code, out }).toEqual({ code: 0, out: 'unpacked run first into there\n' });
  expect((await millrace('doctor', 'first', '--runs', 'there')).out).toMatch(/is sound/);
  for (const command of [
    ['tap', 'first.rollouts', '-o', 'ndjson'],
    ['tap', 'first.scored', '-o', 'ndjson', '--envelope'],
    ['topics', 'first', '--json'],
    ['report', 'first', '--json'],
  ]) {
    const here = await millrace(...command);
    expect(here.out.length).toBeGreaterThan(100);
    expect((await millrace(...command, '--runs', 'there')).out).toBe(here.out);
  }
  expect(readdirSync(at('there'))).toEqual(['first']);
  expect(readdirSync(at('runs'))).toEqual(['first']);
});

test('unpack touches no existing run; another name may be given', async () => {
  await millrace('unpack', 'first.tar.gz', '--runs', 'twice');
  const again = await millrace('unpack', 'first.tar.gz', '--runs', 'twice');
  expect({ ...again }).toMatchObject({ code: 2, err: expect.stringMatching(/already/) });
  const other = await millrace('unpack', 'first.tar.gz', '--runs', 'twice', '--into', 'second');
  expect(other.code).toBe(0);
  expect(readdirSync(at('twice')).sort()).toEqual(['first', 'second']);
});

test('a live run is packed as of one moment', async () => {
  await tinyRun(at('live'), 'going');
  const record = (await readRunRecord(at('live', 'going')))!;
  const starts = [{ startedMs: 0, endedMs: null }];
  await writeRunRecord(at('live', 'going'), { ...record, status: 'running', starts });
  const log = await openLog({ folder: logFolder(at('live', 'going')), mode: 'write' });
  const append = (): Promise<void> =>
    log.commit((tx) => tx.append(topics.deadLetters, deadLetter({ key: 'a' })));
  let packing = true;
  const packed = millrace('pack', 'going', '--runs', 'live', '--no-weights').then((result) => {
    packing = false;
    return result;
  });
  while (packing) await append();
  expect((await packed).code).toBe(0);
  await log.close();
  expect((await millrace('unpack', 'going.tar.gz', '--runs', 'still')).code).toBe(0);
  const there = (await readRunRecord(at('still', 'going')))!;
  expect(there).toMatchObject({ status: 'stopped', starts: [{ endedMs: 9000 }] });
  expect(readdirSync(at('still', 'going'))).not.toContain('weights');
  expect((await millrace('tap', 'going.rollouts', '--runs', 'still', '-n', '1')).code).toBe(0);
});

test('an archive that was changed is refused, and leaves nothing', async () => {
  const unpacked = at('work');
  mkdirSync(unpacked);
  await extract({ file: at('first.tar.gz'), cwd: unpacked });
  const changed: [string, RegExp, () => void][] = [
    [
      'changed',
      /run\.json was changed after packing/,
      () => writeFileSync(at('work/first/run.json'), '{}'),
    ],
    [
      'added',
      /more\.txt was added after packing/,
      () => writeFileSync(at('work/first/more.txt'), ''),
    ],
    ['missing', /log\/log\.mdb is missing/, () => rmSync(at('work/first/log/log.mdb'))],
    ['link', /a is neither a file/, () => symlinkSync('/etc/passwd', at('work/first/a'))],
    ['none', /it is not a packed run/, () => rmSync(at('work/first/pack.json'))],
  ];
  for (const [name, why, change] of changed) {
    rmSync(unpacked, { recursive: true });
    mkdirSync(unpacked);
    await extract({ file: at('first.tar.gz'), cwd: unpacked });
    change();
    await create({ gzip: true, file: at(`${name}.tar.gz`), cwd: unpacked }, ['first']);
    const { code, err } = await millrace('unpack', `${name}.tar.gz`, '--runs', 'bad');
    expect([name, code, err]).toEqual([name, 1, expect.stringMatching(why)]);
  }
  const whole = readFileSync(at('first.tar.gz'));
  writeFileSync(at('cut.tar.gz'), whole.subarray(0, whole.length / 2));
  writeFileSync(at('text.tar.gz'), 'hello');
  for (const file of ['cut.tar.gz', 'text.tar.gz', 'nowhere.tar.gz']) {
    const { code, err } = await millrace('unpack', file, '--runs', 'bad');
    expect([file, code, err]).toEqual([file, 1, expect.stringMatching(/cannot unpack/)]);
  }
  expect(readdirSync(at('bad'))).toEqual([]);
});

test('unpack writes nothing outside the folder of the run', async () => {
  mkdirSync(at('evil/first'), { recursive: true });
  writeFileSync(at('evil/out.txt'), 'out');
  await create(
    { gzip: true, file: at('evil.tar.gz'), cwd: at('evil/first'), preservePaths: true },
    ['../out.txt'],
  );
  const { code } = await millrace('unpack', 'evil.tar.gz', '--runs', 'deep/er');
  expect(code).toBe(1);
  expect(readdirSync(at('deep'))).toEqual(['er']);
  expect(readdirSync(at('deep/er'))).toEqual([]);
});
