/**
 * `millrace set|pause|resume|stop` against a run of another command, with records in a folder and on Kafka.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { readRunRecord } from '../../cli/runRecord.ts';
import { findRun, withLog } from '../../cli/runs.ts';
import { knownSettings } from '../../cli/settingFields.ts';
import { calibrateSettings } from '../../jobs/calibrate/settings.ts';
import { recordsOf } from '../../streams/recordsOf.ts';
import type { Topic } from '../../streams/topic.ts';
import { type ControlRecord, topics, type Weights } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freshRun, kafkaUrl, noKafka } from '../support/kafka.ts';
import { tinyJobFile, tinyRun } from '../support/tinyRun.ts';
import { type FakeIo, fakeIo } from './support/fakeIo.ts';

const temporary = temporaryFolder();
const runs = temporary.path;
afterAll(() => temporary.remove());

async function millrace(...args: string[]) {
  const io = fakeIo(process.cwd());
  const code = await main([...args, '--runs', runs], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

async function all<T>(run: string, topic: Topic<T>): Promise<readonly T[]> {
  return withLog(await findRun(fakeIo(process.cwd()), runs, run), async (log) => {
    const values: T[] = [];
    for await (const { value } of recordsOf(log, topic, { from: { kind: 'earliest' } }))
      values.push(value);
    return values;
  });
}

/** Resolves once `is` holds. */
async function until<T>(look: () => Promise<T>, is: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await look().catch(() => null);
    if (found !== null && is(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const small = ['explore=8', 'keep=6', 'heldOut=3', 'rollouts=4', 'batchGroups=3', 'responseMax=80'];
const flags = small.flatMap((setting) => ['--set', setting]);

function started(
  run: string,
  more: readonly string[],
): { readonly io: FakeIo; readonly end: Promise<number> } {
  const io = fakeIo(process.cwd());
  const args = ['run', tinyJobFile, '--run', run, '--set', 'rounds=forever', ...flags, ...more];
  return { io, end: main([...args, '--runs', runs], io) };
}

const cases = [
  { name: 'in a folder', skip: null, more: [] },
  { name: 'on Kafka', skip: noKafka, more: ['--log', kafkaUrl] },
];

describe.each(cases)('a run that goes on, $name,', ({ skip, more }) => {
  const it = skip === null ? test : test.skip;

  it('takes changed settings, and pauses, resumes and stops on command', async () => {
    const run = freshRun();
    const { io, end } = started(run, more);
    const versions = () => all(run, topics.weights);
    const reached = (version: number) =>
      until<readonly Weights[]>(versions, (made) => (made.at(-1)?.version ?? -1) >= version);
    await reached(1);

    const changed = await millrace('set', run, 'temperature=0.5', 'sigmas=[0.1]');
    expect([changed.err, changed.out]).toEqual([
      '',
      expect.stringMatching(/temperature=0.5 from step \d+.*\nsigmas=\[0.1\] from step \d+/),
    ]);
    const counted = await until(versions, (made) => made.at(-1)?.controls === 2);
    const step = counted.findIndex(({ controls }) => controls === 2) + 1;

    expect(await millrace('pause', run)).toMatchObject({
      code: 0,
      out: expect.stringContaining(`run ${run} is paused: it finishes what is in flight`),
    });
    expect((await millrace('pause', run)).out).toContain('is already paused');
    await until(
      async () => io.stderr(),
      (lines) => lines.some((line) => line.startsWith('paused')),
    );
    const standing = (await versions()).at(-1)!.version;
    expect(await millrace('resume', run)).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining(`run ${run} resumed`),
    });
    expect((await millrace('resume', run)).out).toContain('is not paused');
    await reached(standing + 2);

    expect(await millrace('stop', run)).toMatchObject({ code: 0, out: `run ${run} is stopped\n` });
    expect(await end).toBe(0);
    expect((await millrace('stop', run)).out).toBe(`run ${run} is already stopped\n`);

    const record = await readRunRecord(join(runs, run));
    expect(record).toMatchObject({
      status: 'stopped',
      changes: [
        { setting: 'temperature', value: 0.5, step },
        { setting: 'sigmas', value: [0.1], step },
      ],
    });
    expect((await millrace('set', run)).out).toContain(`temperature=0.5 from step ${step}`);
    const kinds = (await all<ControlRecord>(run, topics.control)).map(({ kind }) => kind);
    expect(kinds).toEqual(['set', 'set', 'pause', 'resume', 'stop']);
    expect(io.stderr().join('\n')).toContain(`temperature=0.5 from step ${step}`);

    // A stop is for those that ran then; a pause holds.
    for (const kind of ['pause', 'resume', 'set', 'stop']) {
      const given = kind === 'set' ? [run, 'keep=2'] : [run];
      const told = await millrace(kind, ...given);
      if (kind === 'stop') expect(told.code).toBe(0);
      else
        expect([told.code, told.err]).toEqual([1, expect.stringMatching(/NOT_RUNNING.*resume it/)]);
    }
    const again = fakeIo(process.cwd());
    const going = main(['run', tinyJobFile, '--run', run, '--runs', runs], again);
    await reached(record === null ? 0 : (await versions()).at(-1)!.version + 1);
    again.interrupt();
    expect(await going).toBe(0);
  });
});

describe('an impossible command to a run', () => {
  test('is refused, and the possible ones are named', async () => {
    await tinyRun(runs, 'done');
    expect(await millrace('set', 'done', 'rollouts=8')).toMatchObject({
      code: 2,
      err: expect.stringMatching(
        /rollouts cannot change while the job runs\nsettings that can .*: .*temperature/,
      ),
    });
    expect((await millrace('set', 'done', 'temprature=1')).err).toContain(
      'did you mean temperature',
    );
    const wrong = (await millrace('set', 'done', 'keep=none')).err;
    expect(wrong).toMatch(/keep: .*\nsettings that can change while the job runs: .*keep/);
    expect(wrong).toMatch(/for the meaning of each setting: \S.* run \S+ --show-settings/);
    expect(wrong).not.toContain('instead of --set');
    expect((await millrace('set', 'done', 'keep=4')).err).toContain(
      'run done is not running: it is done',
    );
    for (const [given, why] of [
      [['lr=0.1', 'lrSteps=[[0,0.1]]'], 'lr would have no effect: lrSteps sets it by step'],
      [['sigmas=[1]', 'sigmaSteps=[[0,1]]'], 'sigmas would have no effect: sigmaSteps sets it by'],
    ] as const) {
      expect(await millrace('set', 'done', ...given)).toMatchObject({
        code: 2,
        err: expect.stringContaining(why),
      });
    }
    expect((await millrace('set', 'done', 'lr=0.1', 'lrSteps=[]')).err).toContain('NOT_RUNNING');
    expect((await millrace('pause', 'gone')).err).toContain('NO_RUN');
    expect((await millrace('set', 'done')).out).toContain('no settings of run done have changed');
  });

  test.each([
    ['keep', { select: 'groups' }, 'with select=groups it sizes the windows'],
    ['keep', { select: 'groups', window: '10m' }, null],
    ['keep', {}, null],
    ['sigmas', { reward: 'accuracy' }, 'it applies to reward=efficiency, but the run has reward='],
    ['sigmaSteps', { reward: 'accuracy' }, 'it applies to reward=efficiency'],
    ['lengthWeight', { reward: 'accuracy' }, 'it applies to reward=efficiency'],
    ['lengthWeight', {}, null],
  ] as const)('is %s if it would do nothing, with %j', (key, over, why) => {
    const settings = calibrateSettings.parse(over);
    const setting = knownSettings(calibrateSettings).find((one) => one.key === key);
    const said = setting?.idle?.(settings) ?? null;
    if (why === null) expect(said).toBeNull();
    else expect(said).toContain(why);
  });

  test('is set aside if it is malformed, and the run goes on', async () => {
    const run = 'damaged';
    const { io, end } = started(run, []);
    await until(
      () => all(run, topics.weights),
      (made) => made.length > 1,
    );
    const folder = join(runs, run, 'control');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'broken.json'), '{"kind":"drop tables"');
    await until(
      () => readdir(folder),
      (names) => names.includes('broken.json.bad'),
    );
    expect(io.stderr().join('\n')).toContain('is not a command for a run');
    io.interrupt();
    expect(await end).toBe(0);
  });
});
