import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { hasCode } from '../../base/errors.ts';
import {
  type ColdStartSettings,
  coldStart,
  coldStartSettings,
  type DemonstrationsFrom,
} from '../../jobs/coldStart.ts';
import type { Job, JobContext } from '../../jobs/defineJob.ts';
import { trainPolicy } from '../../jobs/method.ts';
import { verify } from '../../jobs/replay/verify.ts';
import { completeWith } from '../../jobs/roles.ts';
import { openData } from '../../jobs/sft/data.ts';
import { sftSettings } from '../../jobs/sft/settings.ts';
import { learnData } from '../../jobs/sft/sft.ts';
import { scripted } from '../../model/text/scripted.ts';
import type { TextRequest } from '../../model/text/textModel.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { type ScriptLine, shuffledTurns } from '../../testing/scriptedPolicy.ts';
import { fakeTrainer } from '../support/fakeTrainer.ts';
import { freshFolders } from '../support/folder.ts';
import { readRun, tinyParts, tinyRows } from '../support/tinyCalibration.ts';
import {
  eager,
  essence,
  killedUntilDone,
  type TinyJob,
  type TinyPreferences,
  tinyJobOf,
  whole,
} from '../support/tinyPreferences.ts';
import { tinyWords } from '../support/tinyWords.ts';

const settings: ColdStartSettings = coldStartSettings.parse({
  ...{ heldOut: 3, evaluationRollouts: 2, concurrency: 2, responseMax: 80, callLimit: 3 },
  ...{ rounds: 1, explore: 6, keep: 4, rollouts: 4, initialRollouts: 2, batchGroups: 3 },
  own: { questions: 12, attempts: 4, callLimit: 2, concurrency: 2 },
  flywheel: { questions: 8, rounds: 1, concurrency: 2 },
  finetune: { epochs: 2, size: 2, entropyMin: 0.1, demonstrationsMin: 3 },
});

/** Falls by a quarter with every step: below 0.1 after the fourth. */
const entropy = (steps: number): number => 0.3 * 0.75 ** steps;

type Way = (folder: string) => Promise<DemonstrationsFrom>;

const jobFrom =
  (way: Way): TinyJob<ColdStartSettings> =>
  async (options) => {
    const from = await way(options.folder);
    const all = { ...settings, ...options.settings };
    return tinyJobOf(options, all, (now) => coldStart(now, from), { entropy });
  };

/** A policy that answers and never calls, unless a call is open; it knows no sum but what it looked up. */
function shy({ context, draws, version }: ScriptLine): string {
  if (version > 0) return eager({ context, draws, version } as ScriptLine);
  if (context.endsWith('<search>')) return 'one</search>';
  const [, a, b] = /(\d) ?\+ ?(\d)/.exec(context) ?? [];
  const right = context.includes('</search>') && draws.uniform(0) < 0.7;
  const answer = Number(a) + Number(b) + (right ? 0 : 1);
  return `<think>So it is ${answer}.</think><answer>\\boxed{${answer}}</answer><|end|>`;
}

const own: Way = async () => ({ kind: 'own' });
const taught: string[] = [];
/** Knows every sum, and looks it up. */
function teacher({ prompt, continuation = '', draws: key }: TextRequest): string {
  const purpose = String(key.at(-2));
  if (purpose.startsWith('judge/')) {
    const [, gold, said] = /counts\):\n(\d+)\n\nPrediction:\n(\d*)/.exec(prompt) ?? [];
    return gold === said ? 'Correct' : 'Incorrect';
  }
  taught.push(prompt);
  const [, a, b] = /(\d) ?\+ ?(\d)/.exec(prompt) ?? [];
  if (!continuation.includes('</search>'))
    return '<think>I look it up.</think><search>one</search>';
  const answer = Number(a) + Number(b);
  return `<think>So it is ${answer}.</think><answer>\\boxed{${answer}}</answer>`;
}
const flywheel: Way = async () => ({
  kind: 'flywheel',
  teacher: () => completeWith(scripted(teacher), { temperature: 1, maxTokens: 80 }),
});
const file: Way = async (folder) => {
  const data = join(folder, 'data.jsonl');
  const rows = Array.from({ length: 12 }, (_, i) => ({
    conversations: [
      { from: 'human', value: `What is ${i % 10} + 1?` },
      {
        from: 'gpt',
        value: `<think>I look it up.</think><search>one</search> <result>\ntwo\n</result><think>So</think><answer>\\boxed{${(i % 10) + 1}}</answer>`,
      },
    ],
  }));
  await writeFile(data, rows.map((row) => JSON.stringify(row)).join('\n'));
  const learning = sftSettings.parse({ ...settings.finetune, data, prompt: 'policy' });
  const place = { tokenizer: tinyWords, folder, round: 1, print: () => undefined };
  return { kind: 'file', learn: learnData(learning, await openData(learning, place)) };
};

const fresh = freshFolders();
type Over = Omit<TinyPreferences<ColdStartSettings>, 'folder'>;
const ran = (way: Way, over: Over = {}) =>
  whole(jobFrom(way), { folder: fresh(), script: shy, ...over });

const WAYS = [
  ['from a file', file],
  ['of a flywheel with a teacher', flywheel],
  ['out of its own attempts', own],
] as const;

describe.each(WAYS)('a cold start on demonstrations %s', (_, way) => {
  test('fine-tunes until little entropy is left, then makes RL on what came of it', async () => {
    const { batches, weights, metrics, rollouts, deadLetters, lags } = await ran(way);
    expect([deadLetters, lags]).toEqual([[], []]);
    expect([...new Set(batches.map(({ round, kind }) => `${round} ${kind}`))]).toEqual([
      '1 sft',
      '2 policy',
    ]);
    const values = (name: string) =>
      metrics.filter((one) => one.name === name).map(({ step, value }) => [step, value]);
    const left = values('finetune/entropy');
    expect(left.map(([step]) => step)).toEqual([0, 1, 2, 3, 4]);
    for (const [step, value] of left) expect(value).toBeCloseTo(entropy(step!), 6);
    expect(values('finetune/ended')).toEqual([[4, 1]]);
    const tuning = batches.filter(({ kind }) => kind === 'sft');
    expect(tuning.length).toBeGreaterThan(5);
    // What it is measured on is not trained on.
    const [{ heldOut }] = tuning as [(typeof tuning)[0]];
    expect(heldOut).toHaveLength(1);
    for (const one of tuning) {
      expect(one.heldOut).toEqual(heldOut);
      const learnt = one.examples.map(({ questionId }) => questionId);
      expect(learnt).not.toContain(heldOut[0]!.questionId);
    }
    expect(values('step/left_out').map(([step]) => step)).toEqual(
      tuning.slice(4).map(({ step }) => step),
    );
    // The steps that are left out change no weights; RL does.
    const digests = weights.map(({ digest }) => digest);
    const after = digests.slice(4, tuning.length + 1);
    expect(new Set(after)).toEqual(new Set([digests[4]]));
    expect(new Set(digests).size).toBe(digests.length - after.length + 1);
    const explored = rollouts.filter(({ question }) => question.phase === 'explore');
    expect(Math.min(...explored.map(({ version }) => version))).toBe(tuning.length);
    const evaluated = metrics.filter(({ name }) => name === 'eval/questions');
    expect(evaluated.map(({ round }) => round)).toEqual([0, 1, 2]);
  });

  test('comes to the same end whatever the timing, and when it is killed at any commit', async () => {
    const undisturbed = essence(await ran(way, { timing: 1 }));
    expect(essence(await ran(way, { timing: 2 }))).toEqual(undisturbed);
    for (let seed = 0; seed < 2; seed++) {
      // The second repeats steps whose state was not saved.
      const over = seed === 1 ? { settings: { saveEvery: 3 } } : {};
      const options = { folder: fresh(), script: shy, ...over };
      expect(await killedUntilDone(jobFrom(way), options, seed)).toBeGreaterThan(1);
      const { metrics, ...run } = await readRun(options.folder);
      expect(essence({ metrics, ...run })).toEqual(undisturbed);
      const ended = metrics.filter(({ name }) => name === 'finetune/ended');
      expect(ended.map(({ step }) => step)).toEqual([4]);
    }
  });
});

describe('a cold start', () => {
  test('tells a teacher how to answer, and learns the question alone', async () => {
    taught.length = 0;
    const { demonstrations } = await ran(flywheel);
    const asked = taught.filter((prompt) => /\n\nWhat is \d \+ \d\?$/.test(prompt));
    expect(asked.length).toBeGreaterThan(0);
    for (const prompt of asked) expect(prompt).toMatch(/^Solve the question[\s\S]*<answer>/);
    for (const { question } of demonstrations) {
      expect(question.question).toMatch(/^What is \d \+ \d\?$/);
    }
  });

  test('opens calls for the policy, and keeps only what calls', async () => {
    const { evolved, demonstrations, toolCalls } = await ran(own);
    const opened = evolved.filter(({ text }) =>
      text.startsWith('<think>I look it up.</think><search>'),
    );
    expect(opened.map(({ index }) => index % 4 < 2)).not.toContain(false);
    expect(opened).toHaveLength(12 * 2);
    // What the policy adds to the opened call is its input.
    expect(toolCalls.map(({ input }) => input)).toContain('one');
    expect(toolCalls.filter(({ input }) => input === '')).toEqual([]);
    const kept = demonstrations.flatMap((one) => one.kept);
    expect(kept.length).toBeGreaterThan(3);
    for (const { toolCalls } of kept) expect(toolCalls).toBe(1);
  });

  test('goes on to the rounds of ET-Agent if they are wanted', async () => {
    const { selected, batches } = await ran(own, { settings: { rl: 'et-agent' } });
    expect(selected.length).toBeGreaterThan(0);
    expect(batches.at(-1)).toMatchObject({ kind: 'policy', round: 2 });
  });

  test('ends after demonstrations that are too few, with the reasons, and does so again', async () => {
    const folder = fresh();
    const script = () => '<think>So</think><answer>\\boxed{99}</answer><|end|>';
    for (let start = 0; start < 2; start++) {
      const error = await jobFrom(own)({ folder, script }).catch((failed: Error) => failed.cause);
      expect(hasCode(error, 'NO_DEMONSTRATIONS')).toBe(true);
      expect((error as Error).message).toMatch(
        /^0 demonstrations to fine-tune on, but finetune\.demonstrationsMin is 3: of 48 attempts at 12 questions, 48 called no tool, 48 were wrong, 24 had an invalid format\. Fine-tune on demonstrations from a file/,
      );
    }
    const { batches, demonstrations } = await readRun(folder);
    expect([batches.length, demonstrations.length]).toEqual([0, 12]);
  });

  test('goes on without demonstrations if none are asked for', async () => {
    const script = () => '<think>So</think><answer>\\boxed{99}</answer><|end|>';
    const finetune = { ...settings.finetune, demonstrationsMin: 0 };
    const { batches } = await ran(own, { script, settings: { finetune } });
    expect(batches[0]).toMatchObject({ kind: 'sft', examples: [], heldOut: [], last: true });
    expect(batches.at(-1)).toMatchObject({ kind: 'policy', round: 2 });
  });

  test.each(WAYS)('is replayed bit for bit: %s', async (_, way) => {
    const folder = fresh();
    await killedUntilDone(jobFrom(way), { folder, script: shy }, 5);
    const { difference, equal } = await verified(folder, way);
    expect(difference).toBeNull();
    expect(equal.batches).toBeGreaterThan(5);
    expect(equal.metrics).toBeGreaterThan(20);
  });

  test('is replayed to where it ended without demonstrations', async () => {
    const folder = fresh();
    const script = () => '<think>So</think><answer>\\boxed{99}</answer><|end|>';
    await expect(jobFrom(own)({ folder, script })).rejects.toThrow(/0 demonstrations/);
    const { difference, equal } = await verified(folder, own, script);
    expect([difference, equal.demonstrations]).toEqual([null, 12]);
  });
});

/** Recomputes the run in `folder` from its record. */
async function verified(folder: string, way: Way, script: (line: ScriptLine) => string = shy) {
  const scratch = fresh();
  mkdirSync(join(scratch, 'log'));
  const recorded = await openLog({ folder: join(folder, 'log'), mode: 'read' });
  const log = await openLog({ folder: join(scratch, 'log'), mode: 'write' });
  const job: Job = {
    name: 'tiny',
    about: 'A cold start in a moment.',
    settings: z.unknown(),
    async build(context) {
      const delay = shuffledTurns(9);
      const parts = await tinyParts(scratch, script, delay);
      const trainer = fakeTrainer({ before: delay, entropy });
      const given = context as JobContext<ColdStartSettings>;
      const methods = coldStart(settings, await way(folder));
      return trainPolicy(given, { ...parts, trainer }, { train: tinyRows() }, methods);
    },
  };
  try {
    return await verify({
      ...{ job, run: 'tiny', seed: 7, settings, folder: scratch, recorded, scratch: log },
      clock: manualClock(5),
      signal: new AbortController().signal,
      print: () => undefined,
    });
  } finally {
    await log.close();
    await recorded.close();
  }
}
