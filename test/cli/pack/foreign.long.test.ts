import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { create } from 'tar';
import { digestsIn } from '../../../cli/pack/archive.ts';
import { main } from '../../../cli/program.ts';
import { type RunRecord, readRunRecord, writeRunRecord } from '../../../cli/runRecord.ts';
import { logFolder } from '../../../cli/runs.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { tinyJobFile, tinyRun } from '../../support/tinyRun.ts';
import { fakeIo } from '../support/fakeIo.ts';

const folder = temporaryFolder();
const at = (...path: readonly string[]): string => join(folder.path, ...path);
afterAll(() => folder.remove());

async function millrace(...args: readonly string[]) {
  const io = fakeIo(folder.path, 9000);
  const code = await main(args, io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

/** A job file that leaves a trace when it is executed. */
const spy = (trace: string): string =>
  `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(trace)}, ''); export default {};`;

/** A pack of a run, made by hand with bad intentions. */
async function packed(name: string, change: (folder: string) => Promise<void> | void) {
  const run = at('work', name, name);
  mkdirSync(at('work', name), { recursive: true });
  await tinyRun(at('work', name), name);
  await change(run);
  const manifest = { format: 1, run: name, millrace: '0.1.0', packedMs: 1 };
  const files = await digestsIn(run);
  writeFileSync(join(run, 'pack.json'), JSON.stringify({ ...manifest, files }));
  await create({ gzip: true, file: at(`${name}.tar.gz`), cwd: at('work', name) }, [name]);
  return `${name}.tar.gz`;
}

async function record(run: string, change: (record: RunRecord) => RunRecord): Promise<void> {
  await writeRunRecord(run, change((await readRunRecord(run))!));
}

beforeAll(async () => {
  const trace = at('executed');
  await packed('evil', (run) => {
    writeFileSync(join(run, 'job.mjs'), spy(trace));
    return record(run, (one) => ({ ...one, job: { name: 'tiny', file: 'runs/evil/job.mjs' } }));
  });
  expect((await millrace('unpack', 'evil.tar.gz')).code).toBe(0);
});

test('nothing that an unpacked run names is executed unless the user names the job', async () => {
  for (const command of [
    ['replay', 'evil', '--verify'],
    ['replay', 'evil', '--from', 'scored', '--into', 'other'],
    ['set', 'evil', 'concurrency=2'],
    ['run', '--run', 'evil'],
    ['run', tinyJobFile, '--run', 'evil'],
    ['replay', 'evil', '--from', 'rollouts', '--into', 'live', '--tools', 'live', '--job', 'arpo'],
  ]) {
    const { code, err } = await millrace(...command);
    expect([command.join(' '), code, err]).toEqual([
      command.join(' '),
      expect.any(Number),
      expect.stringMatching(/unpacked from evil\.tar\.gz|not running|does not run/),
    ]);
    expect(code).not.toBe(0);
  }
  expect(existsSync(at('executed'))).toBe(false);
  const job = join(process.cwd(), tinyJobFile);
  const own = await millrace('replay', 'evil', '--verify', '--job', job);
  expect(own).toMatchObject({ code: 0 });
});

test('a run made from an unpacked run counts as foreign too, and is packed as such', async () => {
  const job = join(process.cwd(), tinyJobFile);
  const made = await millrace('replay', 'evil', '--from', 'scored', '--into', 'made', '--job', job);
  expect(made).toMatchObject({ code: 0 });
  expect((await millrace('run', '--run', 'made')).err).toMatch(/unpacked from evil/);
  expect(await millrace('rewind', 'evil', '--to', 'step=2', '--into', 'back')).toMatchObject({
    code: 0,
  });
  expect((await millrace('run', '--run', 'back')).err).toMatch(/unpacked from evil/);
  expect(await millrace('pack', 'evil', '-o', 'again.tar.gz')).toMatchObject({ code: 0 });
  expect((await millrace('unpack', 'again.tar.gz', '--runs', 'mine', '--trust')).code).toBe(0);
  expect(readdirSync(at('mine', 'evil'))).not.toContain('foreign.json');
});

test('a job file inside the folder of a run is never executed, whatever its name', async () => {
  symlinkSync(at('runs/evil/job.mjs'), at('innocent.mjs'));
  for (const file of ['runs/evil/job.mjs', 'innocent.mjs']) {
    const { code, err } = await millrace('run', file);
    expect(code).not.toBe(0);
    expect(err).toMatch(/is in the folder of a run/);
  }
  expect(existsSync(at('executed'))).toBe(false);
});

test('unpack refuses records that are elsewhere: addresses, clusters, folders of another machine', async () => {
  const places: [string, Partial<RunRecord>][] = [
    ['log', { log: 'kafka://attacker.test:9092?sasl=plain' }],
    ['folder', { log: '/etc' }],
    ['cluster', { cluster: 'abc' }],
    ['archive', { retention: { bytesMax: 1, archive: 'http://attacker.test/x' } }],
    ['absolute', { retention: { bytesMax: 1, archive: '/mnt/archive' } }],
  ];
  for (const [name, place] of places) {
    const file = await packed(name, (run) => record(run, (one) => ({ ...one, ...place })));
    const { code, err } = await millrace('unpack', file, '--runs', 'bad');
    expect([name, code, err]).toEqual([name, 1, expect.stringMatching(/is outside the archive/)]);
    const trusted = await millrace('unpack', file, '--runs', 'trusted', '--trust');
    expect([name, trusted.code]).toEqual([name, 0]);
  }
  expect(readdirSync(at('bad'))).toEqual([]);
});

test('an archived segment outside the folder of an unpacked log is not read', async () => {
  const outside = at('outside.gz');
  writeFileSync(outside, gzipSync('secret'));
  const { Store } = await import('../../../streams/embedded/store.ts');
  const file = await packed('segment', async (run) => {
    const store = new Store(logFolder(run), 'write');
    await store.archive('rollouts', { from: 0, to: 1, file: outside }, 1);
    await store.close();
  });
  expect((await millrace('unpack', file)).code).toBe(0);
  const { code, err } = await millrace('tap', 'segment.rollouts', '-n', '1', '--from', 'earliest');
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringMatching(/nothing outside its folder/),
  });
});

test('an unpacked run dated tomorrow is not the newest run', async () => {
  await tinyRun(at('clock'), 'now', {}, { starts: [{ startedMs: 8000, endedMs: 8500 }] });
  const file = await packed('future', (run) =>
    record(run, (one) => ({ ...one, starts: [{ startedMs: 1e15, endedMs: 1e15 }] })),
  );
  expect((await millrace('unpack', file, '--runs', 'clock')).code).toBe(0);
  expect((await millrace('topics', '--runs', 'clock')).err).toMatch(/using run now, the newest/);
});

test('an archive that would fill the disk is refused before anything is written', async () => {
  const file = await packed('bomb', (run) => writeFileSync(join(run, 'zeros'), Buffer.alloc(1e6)));
  const run = at('work/bomb/bomb');
  const stated = JSON.parse(readFileSync(join(run, 'pack.json'), 'utf8'));
  stated.files.zeros.bytes = 1000;
  writeFileSync(join(run, 'pack.json'), JSON.stringify(stated));
  rmSync(at(file));
  await create({ gzip: true, file: at(file), cwd: at('work/bomb') }, ['bomb']);
  const { code, err } = await millrace('unpack', file, '--runs', 'full');
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringMatching(/zeros was changed after packing/),
  });
  expect(readdirSync(at('full'))).toEqual([]);
});

test('an unpacked log opens to be read', async () => {
  const log = await openLog({ folder: logFolder(at('runs/evil')), mode: 'read' });
  expect((await log.stats()).length).toBeGreaterThan(3);
  await log.close();
});
