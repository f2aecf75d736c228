/**
 * Windows cut by time, and the running front, in a whole job whose questions go on coming: killed and resumed
 * it is the run that was left alone, and it is verified.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { filter, take } from 'rxjs';
import type { CalibrateSettings } from '../../jobs/calibrate/settings.ts';
import type { JobQuestions } from '../../jobs/plan.ts';
import { verify } from '../../jobs/replay/verify.ts';
import { endlessQuestions } from '../../sources/endless/endlessQuestions.ts';
import type { QuestionRow } from '../../sources/questions.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { copyRun } from '../../streams/kafka/copyRun.ts';
import { openKafkaLog } from '../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../streams/log.ts';
import { resumable } from '../../streams/resumable.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { allTopics, topics, versionDue } from '../../topics/index.ts';
import { freshFolders } from '../support/folder.ts';
import { freshRun, kafkaUrl, noKafka } from '../support/kafka.ts';
import {
  type RunRecords,
  readRun,
  type TinyOptions,
  tinyCalibration,
  tinyJob,
  tinySettings,
} from '../support/tinyCalibration.ts';

const fresh = freshFolders();
const onThreePartitions = `${kafkaUrl}?partitions=3`;

const row = (id: string, i: number): QuestionRow => ({
  id,
  question: `What is ${i % 10} + ${Math.floor(i / 10) % 10}?`,
  answers: [String((i % 10) + (Math.floor(i / 10) % 10))],
  source: 'tiny',
  ability: 'math',
});

/**
 * Question i comes after i times seven seconds, every tenth a minute later; the clock is the one that they
 * come by.
 */
function arriving() {
  let nowMs = 0;
  const clock = { now: () => nowMs };
  const comesMs = (i: number): number => 7000 * i + 60_000 * Math.floor(i / 10);
  const train = endlessQuestions(
    'somewhere',
    resumable<QuestionRow>(async function* (cursor, signal) {
      for (let i = Number(cursor ?? 0); !signal.aborted; i++) {
        nowMs = Math.max(nowMs, comesMs(i));
        yield { value: row(`sum-${i}`, i), cursor: String(i + 1) };
      }
    }),
  );
  const heldOut = [0, 1, 2].map((i) => ({ value: row(`held-${i}`, 7 * i) }));
  return { clock, rows: { train, heldOut } satisfies JobQuestions };
}

/**
 * Runs it until the version is committed, or its log dies: the one in its folder, or that of a run on Kafka.
 */
async function until(version: number, options: TinyOptions, onKafka?: string): Promise<string> {
  const stop = new AbortController();
  const open = async (): Promise<Log> => {
    const log =
      onKafka === undefined
        ? await openLog({ folder: join(options.folder, 'log'), mode: 'write' })
        : await openKafkaLog({
            topics: allTopics,
            url: onThreePartitions,
            run: onKafka,
            mode: 'write',
          });
    log
      .tap(topics.weights, { from: { kind: 'earliest' }, follow: true })
      .pipe(
        filter(({ value }) => value.version >= version),
        take(1),
      )
      .subscribe(() => stop.abort());
    return log;
  };
  return (await tinyCalibration({ ...options, open, signal: stop.signal })).end;
}

/** What was asked, chosen, trained and cut, up to a version. */
function course({ selected, batches, weights, windows }: RunRecords, version: number) {
  const chosen = selected
    .filter((verdict) => verdict.version < version)
    .map(({ question, front, kept, index, objectives, why }) => ({
      ...{ id: question.id, round: question.round, front, kept, index, objectives, why },
    }));
  const rounds = new Set(chosen.map(({ round }) => round));
  return {
    chosen,
    batches: batches.slice(0, version).map(({ groups, ...batch }) => ({
      ...batch,
      groups: groups.map(({ questionId }) => questionId),
    })),
    digests: weights.slice(0, version + 1).map(({ digest }) => digest),
    windows: windows.filter(({ round }) => rounds.has(round)),
  };
}

const by = (over: Partial<CalibrateSettings>): Partial<CalibrateSettings> => ({
  rounds: 'forever',
  frontMemory: 12,
  ...over,
});

interface Case {
  readonly name: string;
  readonly settings: Partial<CalibrateSettings>;
  readonly kafka?: boolean;
}

const jobs: readonly Case[] = [
  { name: 'by time', settings: by({ window: '45s' }) },
  { name: 'by time, on Kafka', settings: by({ window: '45s' }), kafka: true },
  { name: 'by time, with a lag', settings: by({ window: '45s', lagMax: 2, select: 'groups' }) },
  { name: 'by the running front', settings: by({ sampler: 'front', explore: 6, keep: 4 }) },
  {
    name: 'by time and the running front, with a lag',
    settings: by({ window: '45s', sampler: 'front', lagMax: 2 }),
  },
  {
    name: 'by the running front, groups as they are, with a lag',
    settings: by({ sampler: 'front', lagMax: 2, select: 'groups', mixedOnly: false }),
  },
];

describe.each(jobs)('windows $name', ({ settings, kafka = false }) => {
  const it = kafka && noKafka !== null ? test.skip : test;

  it('are the same when the run is killed and resumed, and when it is replayed', async () => {
    let folder = fresh();
    const run = kafka ? freshRun() : undefined;
    const { clock, rows } = arriving();
    for (const [life, commitsLeft] of [3, 11, 17, 29, 31].entries()) {
      const fate = { commitsLeft, lastIsWritten: life % 2 === 0 };
      await until(9, { folder, settings, timing: life, fate, clock, rows }, run);
    }
    const last = await until(9, { folder, settings, timing: 9, clock, rows }, run);
    expect(last).toBe('stopped');
    if (run !== undefined) {
      folder = fresh();
      await copyRun({
        topics: allTopics,
        url: onThreePartitions,
        run,
        folder: join(folder, 'log'),
      });
    }
    const records = await readRun(folder);
    expect(records.deadLetters).toEqual([]);
    const made = records.weights.length - 1;
    for (const { question, segments } of records.rollouts) {
      const sizes = { ...tinySettings, window: windowOf(settings) };
      const due = versionDue(question, records.weights, sizes)!;
      for (const { version } of segments) {
        if (question.phase !== 'evaluate') expect(version).toBeLessThanOrEqual(due);
        expect(version).toBeGreaterThanOrEqual(due - (settings.lagMax ?? 0));
      }
    }
    for (const { round, size, beganMs, cutMs, why } of records.windows) {
      const taken = records.questions.filter(
        (question) => question.phase === 'explore' && question.round === round,
      );
      expect(size).toBe(taken.length);
      expect(why === 'full' ? size : cutMs - beganMs >= 45_000).toBe(
        why === 'full' ? tinySettings.explore : true,
      );
    }

    if ((settings.lagMax ?? 0) === 0) {
      const undisturbed = fresh();
      await until(made, { folder: undisturbed, settings, timing: 77, ...arriving() });
      expect(course(await readRun(undisturbed), made)).toEqual(course(records, made));
    }

    const scratch = fresh();
    mkdirSync(join(scratch, 'log'));
    const recorded = await openLog({ folder: join(folder, 'log'), mode: 'read' });
    const log = await openLog({ folder: join(scratch, 'log'), mode: 'write' });
    const again = await verify({
      ...{ job: tinyJob({ timing: 1000, rows: arriving().rows }), run: 'tiny', seed: 7 },
      ...{ folder: scratch, settings: { ...tinySettings, ...settings } },
      ...{ recorded, scratch: log, clock: manualClock(5), print: () => undefined },
      signal: new AbortController().signal,
    });
    await log.close();
    await recorded.close();
    expect(again).toMatchObject({ difference: null, weights: records.weights.length });
    expect(again.equal.windows ?? 0).toBe(records.windows.length);
  });
});

/** Candidates a step, where groups are trained on as they are. */
function windowOf({ window, select, explore = tinySettings.explore }: Partial<CalibrateSettings>) {
  if (window !== undefined || select !== 'groups') return explore;
  return Math.ceil(explore / Math.ceil(tinySettings.keep / tinySettings.batchGroups));
}
