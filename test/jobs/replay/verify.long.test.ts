import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import type { Job, JobContext } from '../../../jobs/defineJob.ts';
import { type Verified, verify } from '../../../jobs/replay/verify.ts';
import { toolDown } from '../../../operators/tools/tool.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Log } from '../../../streams/log.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { topics } from '../../../topics/index.ts';
import { fakeTrainer } from '../../support/fakeTrainer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import {
  readRun,
  sloppy,
  type TinyJobOptions,
  type TinyOptions,
  tinyCalibration,
  tinyJob,
  tinySettings,
  tinyWorld,
} from '../../support/tinyCalibration.ts';
import { tinyWords } from '../../support/tinyWords.ts';

const folders: ReturnType<typeof temporaryFolder>[] = [];
const fresh = (): string => {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder.path;
};
afterEach(() => {
  for (const folder of folders.splice(0)) folder.remove();
});

type Settings = TinyOptions['settings'];
interface Again extends TinyJobOptions {
  readonly settings?: Settings;
  readonly signal?: AbortSignal;
  readonly recorded?: (log: Log) => Log;
  readonly print?: (line: string) => void;
  readonly onBuild?: (context: JobContext<unknown>) => void;
}

/** Verifies the run in `folder`; also where the replay left its records. */
async function verified(
  folder: string,
  {
    settings,
    signal,
    recorded: through = (log) => log,
    print = () => undefined,
    onBuild = () => undefined,
    ...job
  }: Again = {},
): Promise<Verified & { readonly scratch: string; readonly toolsCalled: number }> {
  const scratch = fresh();
  mkdirSync(join(scratch, 'log'));
  const recorded = await openLog({ folder: join(folder, 'log'), mode: 'read' });
  const log = await openLog({ folder: join(scratch, 'log'), mode: 'write' });
  let toolsCalled = 0;
  try {
    const tiny = tinyJob({
      timing: 1000,
      ...job,
      onWired: (wiring) => {
        job.onWired?.(wiring);
        const call = wiring.tools.call;
        wiring.tools.call = (...given) => {
          toolsCalled += 1;
          return call(...given);
        };
      },
    });
    const build: Job['build'] = (context) => {
      onBuild(context);
      return tiny.build(context);
    };
    const result = await verify({
      job: { ...tiny, build },
      run: 'tiny',
      seed: 7,
      settings: { ...tinySettings, ...settings },
      folder: scratch,
      recorded: through(recorded),
      scratch: log,
      clock: manualClock(5),
      signal: signal ?? new AbortController().signal,
      print,
    });
    return { ...result, scratch, toolsCalled };
  } finally {
    await log.close();
    await recorded.close();
  }
}

/** Kills the run at random commits until it ends, or `starts` times. */
async function killed(folder: string, seed: number, settings: Settings, starts = 1000) {
  const stream = draws('kill', seed);
  for (let start = 0; start < starts; start++) {
    const fate = { commitsLeft: stream.integer(2 * start, 50), lastIsWritten: start % 2 === 0 };
    const { end } = await tinyCalibration({
      folder,
      fate,
      timing: 100 * seed + start,
      ...(settings === undefined ? {} : { settings }),
    });
    if (end === 'quiescent') return;
  }
}

const SETTINGS: readonly (readonly [string, Settings])[] = [
  ['strictly on-policy', {}],
  ['with groups trained on as they are', { select: 'groups' }],
  ['with a monitored rollout', { branching: 'aepo' }],
  ['at lag 4', { lagMax: 4, concurrency: 6 }],
  ['at lag 4, groups as they are', { lagMax: 4, concurrency: 6, select: 'groups' }],
];

test('verify finds a run equal whose trainer did not count yet what goes forward only', async () => {
  const folder = fresh();
  const counting = () => ({ ...tinyWorld, trainer: fakeTrainer({ forwardOnly: 3 }) });
  await tinyCalibration({ folder });
  expect((await verified(folder, { world: counting() })).difference).toBeNull();
  const newer = fresh();
  await tinyCalibration({ folder: newer, world: counting() });
  expect((await verified(newer, { world: counting() })).difference).toBeNull();
  const { difference } = await verified(newer);
  expect(difference).toMatchObject({ kind: 'notMadeAgain', topic: 'metrics' });
});

test('verify finds a run equal that was killed and saved every third optimiser state', async () => {
  const folder = fresh();
  const settings = { saveEvery: 3 };
  await killed(folder, 5, settings);
  const whole = fresh();
  await tinyCalibration({ folder: whole, settings });
  const { weights } = await readRun(folder);
  expect(weights).toEqual((await readRun(whole)).weights);
  expect(new Set(weights.map(({ state }) => state === '')).size).toBe(2);
  // What was saved is recorded; the settings need not say it.
  expect(await verified(folder)).toMatchObject({ difference: null });
});

describe.each(SETTINGS)('verify of a run %s', (_name, settings) => {
  test('finds every record and every digest equal, and calls no tool', async () => {
    const folder = fresh();
    await tinyCalibration({ folder, settings: settings!, timing: 3 });
    const run = await readRun(folder);
    const found = await verified(folder, { settings });
    expect(found.difference).toBeNull();
    expect(found.stopped).toBe(false);
    expect(found.toolsCalled).toBe(0);
    expect(found.equal).toMatchObject({
      questions: run.questions.length,
      rollouts: run.rollouts.length,
      'tool-calls': run.toolCalls.length,
      scored: run.scored.length,
      selected: run.selected.length,
      batches: run.batches.length,
      weights: run.weights.length,
    });
    const again = await readRun(found.scratch);
    expect(again.weights).toEqual(run.weights);
    expect(again.batches).toEqual(run.batches);
    expect(again.scored).toEqual(run.scored);
  });

  test('finds a run equal that was killed and resumed', async () => {
    const folder = fresh();
    await killed(folder, 5, settings);
    expect(await verified(folder, { settings })).toMatchObject({ difference: null });
  });

  test('replays what an unfinished run had finished, and no more', async () => {
    const folder = fresh();
    await killed(folder, 1, settings, 2);
    const run = await readRun(folder);
    const found = await verified(folder, { settings });
    expect(found.difference).toBeNull();
    expect(found.equal.rollouts ?? 0).toBe(run.rollouts.length);
    expect(found.weights).toBe(run.weights.length);
  });
});

describe('verify', () => {
  const made = async (settings: Settings = {}): Promise<string> => {
    const folder = fresh();
    await tinyCalibration({ folder, settings: settings!, timing: 3 });
    return folder;
  };

  test('holds each span of a lagging run to the version that made it', async () => {
    const settings = { lagMax: 4, concurrency: 6 };
    const folder = await made(settings);
    const run = await readRun(folder);
    const lags = run.batches.flatMap(({ groups, version }) =>
      groups.map(({ scored }) => version - run.scored[scored.offset]!.version),
    );
    expect(lags.some((lag) => lag > 0)).toBe(true);
    const engines: { readonly loads: readonly { readonly version: number }[] }[] = [];
    const onWired: TinyJobOptions['onWired'] = ({ engine }) => void engines.push(engine);
    expect((await verified(folder, { settings, onWired })).difference).toBeNull();
    const versions = new Set(run.rollouts.map(({ version }) => version));
    expect(new Set(engines[0]!.loads.map(({ version }) => version))).toEqual(versions);
  });

  test('shows the first record that differs, with its position', async () => {
    const folder = await made();
    const script: TinyJobOptions['script'] = (line) =>
      line.version === 2 ? '<think>No.</think><answer>3</answer><|end|>' : sloppy(line);
    const { difference, weights } = await verified(folder, { script });
    expect(difference).toMatchObject({ kind: 'differs', topic: 'rollouts' });
    const run = await readRun(folder);
    const recorded = run.rollouts[difference!.offset!]!;
    expect(recorded.id).toBe(difference!.id);
    expect(recorded.version).toBe(2);
    const [field, place] = difference!.field.split('.');
    expect(field).toBe('tokens');
    expect(difference!.recorded).toBe(recorded.tokens[Number(place)]);
    expect(difference!.made).not.toBe(difference!.recorded);
    expect(weights).toBeLessThan(run.weights.length);
  });

  test('shows a call that the run did not make, without making it', async () => {
    const folder = await made();
    const script: TinyJobOptions['script'] = (line) =>
      sloppy(line).replace('<search>one', '<search>three');
    const { difference, toolsCalled } = await verified(folder, { script });
    expect(difference).toMatchObject({ kind: 'differs', topic: 'tool-calls', field: 'input' });
    expect([difference!.recorded, difference!.made]).toEqual(['one', 'three']);
    expect(toolsCalled).toBe(0);
  });

  test('finds a run equal in which a tool was down and its rollouts failed', async () => {
    const folder = fresh();
    const why = 'the tool search cannot answer: nobody is there';
    let calls = 0;
    const search = (query: string): string => {
      calls += 1;
      if (calls % 4 === 0) throw toolDown('search', 'nobody is there');
      return `two ${query}`;
    };
    const world = { tokenizer: tinyWords, answers: { search } };
    await tinyCalibration({ folder, timing: 3, world });
    const run = await readRun(folder);
    const failed = run.rollouts.filter(({ status }) => status === 'failed');
    expect(failed.length).toBeGreaterThan(3);
    expect(new Set(failed.map(({ reason }) => reason))).toEqual(new Set([why]));
    expect(run.toolCalls.every(({ ok }) => ok)).toBe(true);
    expect(run.rollouts.filter(({ text }) => text.includes('nobody'))).toEqual([]);
    for (const { rollouts, advantages } of run.scored) {
      for (const [i, { offset }] of rollouts.entries()) {
        if (run.rollouts[offset]!.status === 'failed') expect(advantages[i]).toBe(0);
      }
    }
    const found = await verified(folder);
    expect([found.difference, found.toolsCalled]).toEqual([null, 0]);
  });

  test('shows weights that differ', async () => {
    const folder = await made();
    const { difference } = await verified(folder, { settings: { lr: 1 } });
    expect(difference).toMatchObject({ kind: 'differs', topic: 'weights', id: '1' });
    expect(difference!.field).toBe('digest');
  });

  test('shows a record that the replay does not make', async () => {
    const folder = await made();
    const log = await openLog({ folder: join(folder, 'log'), mode: 'write' });
    await log.commit((tx) =>
      tx.append(topics.metrics, { name: 'extra', step: 9, round: 1, value: 1, atMs: 0 }),
    );
    await log.close();
    expect((await verified(folder)).difference).toMatchObject({
      kind: 'notMadeAgain',
      topic: 'metrics',
      id: 'extra of step 9, round 1',
    });
  });

  test('passes on what the parts of the job say, without the recorded progress', async () => {
    const folder = await made();
    const said: string[] = [];
    const onBuild = (context: JobContext<unknown>) => context.print('the service is away');
    const found = await verified(folder, { onBuild, print: (line) => said.push(line) });
    expect(found.difference).toBeNull();
    expect(said.filter((line) => !line.startsWith('version '))).toEqual(['the service is away']);
  });

  test('stops in the middle when it is aborted', async () => {
    const folder = await made();
    const abort = new AbortController();
    const found = await verified(folder, { signal: abort.signal, print: () => abort.abort() });
    expect(found).toMatchObject({ difference: null, stopped: true });
  });

  test('refuses a job that would call its tools', async () => {
    const folder = await made();
    const job = tinyJob();
    const wired: Job = {
      ...job,
      build: ({ replay: _, ...context }) => job.build(context),
    };
    const recorded = await openLog({ folder: join(folder, 'log'), mode: 'read' });
    const scratch = fresh();
    const log = await openLog({ folder: join(scratch, 'log'), mode: 'write' });
    const again = verify({
      job: wired,
      run: 'tiny',
      seed: 7,
      settings: tinySettings,
      recorded,
      scratch: log,
      folder: scratch,
      clock: manualClock(),
      signal: new AbortController().signal,
      print: () => undefined,
    });
    await expect(again).rejects.toMatchObject({ code: 'REPLAY_TOOLS' });
    await log.close();
    await recorded.close();
  });
});
