/**
 * Steps of the real trainer on prepared batches: fine-tuning lowers the loss, preferences raise the margin.
 */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { type DecoderConfig, initialise } from '../../../model/config.ts';
import type { Scorer } from '../../../model/engine.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { batchDemonstrations, batchPairs } from '../../../operators/batchExamples.ts';
import { encodeExample } from '../../../operators/dialect/encodeExample.ts';
import { trainer } from '../../../sinks/trainer.ts';
import { type WeightsStore, weightsStore } from '../../../sinks/weights/weights.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { flow } from '../../../streams/flow.ts';
import type { Log } from '../../../streams/log.ts';
import { runFlow } from '../../../streams/run/runFlow.ts';
import { sink, stage } from '../../../streams/stage.ts';
import type { Topic } from '../../../streams/topic.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { type Metric, topics, type Weights } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { question } from '../../support/records.ts';
import { tinyWords } from '../../support/tinyWords.ts';

const encodeTiny = (question: string, text: string) =>
  encodeExample(question, text, {
    prompt: tinyWords.encode,
    tokenizer: tinyWords,
    results: 'masked',
  });

const CONFIG: DecoderConfig = {
  architecture: 'qwen2',
  vocabSize: tinyWords.vocabSize,
  hiddenSize: 16,
  layers: 1,
  heads: 2,
  kvHeads: 1,
  intermediateSize: 32,
  ropeTheta: 10_000,
  rmsEps: 1e-6,
  attentionBias: false,
  tiedEmbeddings: true,
};
const BETA = 0.5;
const answer = (digit: number): string => `<answer>\\boxed{${digit}}</answer>`;
const asked = question({ question: 'What is 1 + 1?', round: 1 });

let folder: ReturnType<typeof temporaryFolder>;
let log: Log;
let engine: EmbeddedTrainer;
let store: WeightsStore;

async function begin(): Promise<void> {
  folder = temporaryFolder();
  log = await openLog({ folder: join(folder.path, 'log'), mode: 'write' });
  store = weightsStore(folder.path, log);
  engine = await EmbeddedTrainer.create({
    policy: { config: CONFIG, tensors: initialise(CONFIG, 1) },
    now: () => 0,
  });
  const base = join(folder.path, 'base.safetensors');
  await engine.write(base);
  const first = await store.adopt(base);
  await log.commit((tx) => tx.append(topics.weights, first));
}
async function end(): Promise<void> {
  await engine.close();
  await log.close();
  folder.remove();
}
beforeEach(begin);
afterEach(end);

async function all<T>(topic: Topic<T>): Promise<T[]> {
  const stored$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
}

const prompt = (text: string): Int32Array => tinyWords.encode(text, { tags: false });

const putPair = (): Promise<void> =>
  log.commit((tx) =>
    tx.append(topics.pairs, {
      question: asked,
      difficulty: '',
      version: 0,
      pairs: [{ chosen: answer(2), rejected: answer(3), why: 'right' }],
    }),
  );

async function train(reference: EmbeddedTrainer | null = null): Promise<void> {
  const round = { questions: 1, epochs: 6, size: 2, perQuestionMax: 2, seed: 1, openMax: 1 };
  const learnt = trainer({
    engine,
    store,
    log,
    reference,
    encode: encodeTiny,
    clock: manualClock(),
    losses: { sft: { name: 'sft' }, dpo: { name: 'dpo', settings: { beta: BETA } } },
    lr: 0.01,
    miniBatches: 1,
    lagMax: 0,
  });
  const end = await runFlow(
    flow(
      stage('sft', topics.demonstrations, topics.batches, batchDemonstrations(round)),
      stage('dpo', topics.pairs, topics.batches, batchPairs(round)),
      sink('trainer', topics.batches, topics.weights, learnt, { inflightMax: 1 }),
    ),
    { log },
  );
  expect(end).toBe('quiescent');
}

const losses = async (): Promise<number[]> =>
  (await all<Metric>(topics.metrics)).filter(({ name }) => name === 'loss').map((m) => m.value);

test('fine-tuning lowers the loss from step to step', async () => {
  await log.commit((tx) =>
    tx.append(topics.demonstrations, {
      question: asked,
      difficulty: '',
      dropped: [],
      version: 0,
      kept: [2, 3].map((digit, index) => ({
        index,
        round: 0,
        action: 'initial',
        toolCalls: 0,
        text: answer(digit),
        turns: [],
        functions: '',
      })),
    }),
  );
  await train();
  const seen = await losses();
  expect(seen).toHaveLength(6);
  for (let step = 1; step < seen.length; step++) expect(seen[step]).toBeLessThan(seen[step - 1]!);
});

/** How much more the scorer likes the chosen response than the rejected one, in nats. */
async function preference(scorer: Scorer): Promise<number> {
  const pair = [answer(2), answer(3)].map((text) =>
    encodeExample(asked.question, text, { prompt, tokenizer: tinyWords, results: 'masked' }),
  );
  const scores = await scorer.score(pair.map(({ tokens }) => tokens));
  const [chosen, rejected] = scores.map(({ logProbs }, i) =>
    logProbs.reduce((sum, logProb, place) => sum + logProb * pair[i]!.mask[place]!, 0),
  );
  return chosen! - rejected!;
}

test('a preference step raises the margin, and its loss is that of the margin to the frozen policy', async () => {
  await putPair();
  const begun = await preference(engine);
  await train();
  const margins: number[] = [0];
  const weights = (await all<Weights>(topics.weights)).slice(-2);
  for (const one of weights) {
    await engine.restore(store.saved(one), 'score');
    margins.push((await preference(engine)) - begun);
  }
  expect(margins[1]).toBeGreaterThan(0);
  expect(margins[2]).toBeGreaterThan(margins[1]!);
  const seen = await losses();
  expect(seen[0]).toBeCloseTo(Math.log(2), 5);
  // The last step began with the weights before the last.
  expect(seen.at(-1)).toBeCloseTo(Math.log1p(Math.exp(-BETA * margins[1]!)), 4);
});

test('an engine of its own for the reference gives the same bits', async () => {
  const digests = async (): Promise<(string | null)[]> =>
    (await all<Weights>(topics.weights)).map(({ digest }) => digest);
  await putPair();
  await train();
  const wanted = await digests();
  await end();
  await begin();
  await putPair();
  const other = await EmbeddedTrainer.create({
    policy: { config: CONFIG, tensors: initialise(CONFIG, 2) },
  });
  await train(other);
  await other.close();
  expect(wanted).toHaveLength(7);
  expect(await digests()).toEqual(wanted);
});
