import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { batchDemonstrations, batchPairs } from '../../../operators/batchExamples.ts';
import { roundRate } from '../../../operators/batching/learningRate.ts';
import { encodeExample } from '../../../operators/dialect/encodeExample.ts';
import { type TrainerOptions, trainer } from '../../../sinks/trainer.ts';
import { weightsStore } from '../../../sinks/weights/weights.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { flow } from '../../../streams/flow.ts';
import type { Log } from '../../../streams/log.ts';
import { runFlow } from '../../../streams/run/runFlow.ts';
import { sink, stage } from '../../../streams/stage.ts';
import type { Topic } from '../../../streams/topic.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { type Demonstrations, type Pairs, topics } from '../../../topics/index.ts';
import { type FakeTrainer, fakeTrainer } from '../../support/fakeTrainer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { type Fate, mortalLog } from '../../support/mortalLog.ts';
import { batch, question } from '../../support/records.ts';
import { tinyWords } from '../../support/tinyWords.ts';

const encodeTiny = (question: string, text: string) =>
  encodeExample(question, text, {
    prompt: tinyWords.encode,
    tokenizer: tinyWords,
    results: 'masked',
  });

const QUESTIONS = 5;
/** Versions: 0, then so many of fine-tuning, then so many of preferences. */
const SFT_STEPS = 3;
const DPO_STEPS = 3;
const LAST = SFT_STEPS + DPO_STEPS;

const said = (answer: number | string): string =>
  `<think>So it is ${answer}.</think><answer>\\boxed{${answer}}</answer>`;
const called = `<think>I look it up.</think><search>one</search> <result>\ntwo\n</result>${said(2)}`;

const demonstrations = (i: number): Demonstrations => ({
  question: question({ id: `q${i}`, question: `What is ${i}?`, phase: 'evolve', round: 1 }),
  difficulty: '',
  kept: [said(i), called].map((text, index) => ({
    index,
    round: index,
    action: 'initial',
    toolCalls: index,
    text,
    turns: [],
    functions: '',
  })),
  dropped: [],
  version: 0,
});
const pairsOf = (i: number): Pairs => ({
  question: question({ id: `q${i}`, question: `What is ${i}?`, phase: 'prefer', round: 2 }),
  difficulty: '',
  pairs: [{ chosen: said(i), rejected: called, why: 'fewer calls' }],
  version: SFT_STEPS,
});

let folder: ReturnType<typeof temporaryFolder>;
let log: Log;

/** Demonstrations and pairs of these questions. */
async function begin(order: readonly number[] = [0, 1, 2, 3, 4]): Promise<void> {
  folder = temporaryFolder();
  log = await openLog({ folder: join(folder.path, 'log'), mode: 'write' });
  const base = join(folder.path, 'base.safetensors');
  await writeFile(base, 'base weights');
  const first = await weightsStore(folder.path, log).adopt(base);
  await log.commit((tx) => {
    tx.append(topics.weights, first);
    for (const i of order) tx.append(topics.demonstrations, demonstrations(i));
    for (const i of order) tx.append(topics.pairs, pairsOf(i));
  });
}

async function end(): Promise<void> {
  await log.close();
  folder.remove();
}

beforeEach(() => begin());
afterEach(end);

async function all<T>(topic: Topic<T>): Promise<T[]> {
  const stored$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
}

interface Ran {
  readonly engine: FakeTrainer;
  readonly commits: number;
}

/** Runs both rounds to their end, or until the log dies. */
async function run(over: Partial<TrainerOptions> = {}, fate?: Fate): Promise<Ran> {
  const mortal = mortalLog(log, fate ?? { commitsLeft: 1e9, lastIsWritten: true });
  const engine = fakeTrainer({ before: mortal.life });
  const learnt = trainer({
    engine,
    store: weightsStore(folder.path, mortal.log),
    log: mortal.log,
    losses: { sft: { name: 'sft' }, dpo: { name: 'dpo', settings: { beta: 0.1 } } },
    lr: roundRate({ lr: 0.01, schedule: 'cosine', warmupRatio: 0.1 }),
    encode: encodeTiny,
    miniBatches: 2,
    lagMax: 0,
    clock: manualClock(50),
    ...over,
  });
  const options = { questions: QUESTIONS, epochs: 1, perQuestionMax: 2, seed: 3, openMax: 1 };
  const running = runFlow(
    flow(
      stage(
        'fine-tuning',
        topics.demonstrations,
        topics.batches,
        batchDemonstrations({ ...options, size: 4 }),
      ),
      stage('preferences', topics.pairs, topics.batches, batchPairs({ ...options, size: 2 })),
      sink('trainer', topics.batches, topics.weights, learnt, { inflightMax: LAST }),
    ),
    { log: mortal.log },
  );
  if (fate === undefined) expect(await running).toBe('quiescent');
  else await running.catch((error) => expect(String(error)).toContain('killed'));
  return { engine, commits: mortal.commits };
}

const digests = async (): Promise<(string | null)[]> =>
  (await all(topics.weights)).map(({ digest }) => digest);

describe('a round of fine-tuning and a round of preferences', () => {
  test('make a version for each step, and end their rounds', async () => {
    const { engine } = await run({ lagMax: LAST });
    const weights = await all(topics.weights);
    expect(weights.map(({ version, roundsDone }) => [version, roundsDone])).toEqual([
      ...[
        [0, 0],
        [1, 0],
        [2, 0],
        [3, 1],
      ],
      ...[
        [4, 1],
        [5, 1],
        [6, 2],
      ],
    ]);
    expect(engine.steps.map(({ loss }) => loss.name)).toEqual([
      ...['sft', 'sft', 'sft', 'dpo', 'dpo', 'dpo'],
    ]);
    expect(engine.steps.map(({ sequences }) => sequences.length)).toEqual([3, 3, 4, 2, 4, 4]);
    const rates = engine.steps.map(({ lr }) => lr);
    expect(rates.slice(0, SFT_STEPS)).toEqual(rates.slice(SFT_STEPS));
    expect(new Set(rates).size).toBe(3);
  });

  test('put chosen before rejected, with the log-probs of the version that the round began with', async () => {
    const { engine } = await run({ lagMax: LAST });
    const dpo = engine.steps.slice(SFT_STEPS).flatMap(({ sequences }) => sequences);
    for (const [i, { tokens, refLogProbs }] of dpo.entries()) {
      const text = tinyWords.decode(tokens);
      expect(text.includes('</search>')).toBe(i % 2 === 1);
      expect(refLogProbs).toHaveLength(tokens.length);
    }
    // The same prompt and beginning in another step has the same reference: the weights are frozen.
    const begun = (await all(topics.weights))[SFT_STEPS]!;
    const frozen = fakeTrainer();
    await frozen.restore(weightsStore(folder.path, log).saved(begun), 'score');
    const wanted = await frozen.score(dpo.map(({ tokens }) => tokens));
    expect(dpo.map(({ refLogProbs }) => refLogProbs)).toEqual(
      wanted.map(({ logProbs }) => logProbs),
    );
  });

  test('give the same weights whatever order the questions came in', async () => {
    await run({ lagMax: LAST });
    const wanted = await digests();
    await end();
    await begin([3, 0, 4, 2, 1]);
    await run({ lagMax: LAST });
    expect(await digests()).toEqual(wanted);
  });

  test('give the same weights after a crash at any commit, with and without an engine for the reference', async () => {
    const { commits } = await run({ lagMax: LAST });
    const wanted = await digests();
    expect(commits).toBeGreaterThan(LAST);
    for (let commitsLeft = 0; commitsLeft < commits; commitsLeft++) {
      for (const lastIsWritten of [false, true]) {
        await end();
        await begin();
        const reference = () => (commitsLeft % 2 === 0 ? null : fakeTrainer());
        await run({ lagMax: LAST, reference: reference() }, { commitsLeft, lastIsWritten });
        await log.close();
        log = await openLog({ folder: join(folder.path, 'log'), mode: 'write' });
        await run({ lagMax: LAST, reference: reference() });
        expect(await digests()).toEqual(wanted);
      }
    }
  });

  test('keep the reference of a round that began within one', async () => {
    await end();
    // One step of a round that goes on, and preferences from the version that it made.
    await begin([]);
    const within = batch({ step: 1, round: 1, version: 0, kind: 'sft' });
    await log.commit((tx) => {
      tx.append(topics.batches, within);
      for (let i = 0; i < QUESTIONS; i++) tx.append(topics.pairs, { ...pairsOf(i), version: 1 });
    });
    await run({ lagMax: LAST });
    const weights = await all(topics.weights);
    const kept = weights.filter(({ uri }) => existsSync(join(folder.path, uri)));
    expect(kept.map(({ version }) => version)).toContain(1);
    expect(weights).toHaveLength(2 + DPO_STEPS);
  });

  test('score with the engine of the reference if there is one, which loads its version once', async () => {
    const reference = fakeTrainer();
    const { engine } = await run({ lagMax: LAST, reference });
    expect(engine.scores).toEqual([]);
    expect(engine.restores).toHaveLength(1);
    expect(reference.scores).toHaveLength(DPO_STEPS);
    const begun = (await all(topics.weights))[SFT_STEPS]!;
    const saved = weightsStore(folder.path, log).saved(begun);
    expect(reference.restores).toEqual([{ ...saved, use: 'score' }]);
  });

  test('skip and count what is too long, a pair as a whole', async () => {
    const longest = tinyWords.encode(`What is 1?${called}`).length;
    const { engine } = await run({ lagMax: LAST, tokensMax: longest - 1 });
    const metrics = await all(topics.metrics);
    const sum = (name: string, roundOf: number): number =>
      metrics
        .filter((metric) => metric.name === name && metric.round === roundOf)
        .reduce((total, { value }) => total + value, 0);
    expect([sum('examples', 1), sum('examples/dropped', 1)]).toEqual([QUESTIONS, QUESTIONS]);
    expect([sum('examples', 2), sum('examples/dropped', 2)]).toEqual([0, QUESTIONS]);
    expect(engine.steps.every(({ loss }) => loss.name === 'sft')).toBe(true);
    expect(await all(topics.weights)).toHaveLength(1 + LAST);
    expect(metrics.every(({ value }) => Number.isFinite(value))).toBe(true);
  });

  test('train on the sequences that the job encodes, with results if it says so', async () => {
    const encodeWithResults = (question: string, text: string) =>
      encodeExample(question, text, {
        prompt: tinyWords.encode,
        tokenizer: tinyWords,
        results: 'trained',
      });
    const learnt = async (over: Partial<TrainerOptions>): Promise<number> => {
      const { engine } = await run({ lagMax: LAST, ...over });
      return engine.steps
        .flatMap(({ sequences }) => sequences)
        .reduce((sum, { mask }) => sum + mask.reduce((a, b) => a + b, 0), 0);
    };
    const masked = await learnt({});
    await end();
    await begin();
    // A result block is three tokens here; a demonstration and a rejected response of each question have one.
    expect((await learnt({ encode: encodeWithResults })) - masked).toBe(3 * 2 * QUESTIONS);
  });

  test('end with an error that names a missing loss', async () => {
    const running = run({ losses: { sft: { name: 'sft' } }, lagMax: LAST });
    await expect(running).rejects.toThrow('losses.dpo');
  });
});
