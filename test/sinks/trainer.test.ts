import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import type { NamedLoss } from '../../model/losses/losses.ts';
import { encodeExample } from '../../operators/dialect/encodeExample.ts';
import { type TrainerOptions, trainer } from '../../sinks/trainer.ts';
import { weightsStore } from '../../sinks/weights/weights.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import { sink } from '../../streams/stage.ts';
import type { Topic } from '../../streams/topic.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { type Batch, type Metric, type Rollout, topics, type Weights } from '../../topics/index.ts';
import { type FakeTrainer, fakeTrainer } from '../support/fakeTrainer.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type Fate, mortalLog } from '../support/mortalLog.ts';
import { batch } from '../support/records.ts';
import { group, practised, rewards, scored } from '../support/scored.ts';
import { tinyWords } from '../support/tinyWords.ts';

const encodeTiny = (question: string, text: string) =>
  encodeExample(question, text, {
    prompt: tinyWords.encode,
    tokenizer: tinyWords,
    results: 'masked',
  });

const GROUPS = 4;
const STEPS = 3;
const loss = { name: 'clipped' } satisfies NamedLoss;

let folder: ReturnType<typeof temporaryFolder>;
let log: Log;

const open = (): Promise<Log> => openLog({ folder: join(folder.path, 'log'), mode: 'write' });

async function all<T>(topic: Topic<T>): Promise<T[]> {
  const stored$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
}

/**
 * Version 0, and a round of STEPS batches with GROUPS groups of two rollouts each, one cloned from the other.
 * Every other group is `lag` versions behind its step where there are so many.
 */
async function fill(order: readonly number[] = [1, 2, 3], lag = 0): Promise<void> {
  const base = join(folder.path, 'base.safetensors');
  await writeFile(base, 'base weights');
  const first = await weightsStore(folder.path, log).adopt(base);
  await log.commit((tx) => {
    tx.append(topics.weights, first);
    for (let index = 0; index < STEPS * GROUPS; index++) {
      const question = practised(index, STEPS * GROUPS);
      const version = Math.max(0, Math.floor(index / GROUPS) - (index % 2) * lag);
      const members = group(question, ['right', 'wrong'.repeat(index + 1)], version);
      for (const member of members) {
        const parent = member.index === 0 ? null : { index: 0, offset: 2 };
        tx.append(topics.rollouts, { ...member, parent, startedMs: 1000, endedMs: 3000 });
      }
      const positions = [0, 1].map((i) => ({ partition: 0, offset: index * 2 + i }));
      tx.append(
        topics.scored,
        scored({
          question,
          rewards: rewards([1, 0]),
          advantages: [0.5, -0.5],
          toolCalls: [1, 3],
          lengths: members.map(({ tokens }) => tokens.length),
          rollouts: positions,
        }),
      );
    }
    for (const step of order) tx.append(topics.batches, batchOf(step));
  });
}

const batchOf = (step: number): Batch =>
  batch({
    step,
    round: 1,
    version: step - 1,
    // Not the order of the log: the batch has its own.
    groups: Array.from({ length: GROUPS }, (_, i) => step * GROUPS - 1 - i).map((index) => ({
      questionId: `p${index}`,
      scored: { partition: 0, offset: index },
    })),
    last: step === STEPS,
  });

/**
 * Runs a trainer until everything is trained on, until the log dies and the trainer with it, or until
 * `stopAt` batches are in flight.
 */
async function train(
  fate?: Fate,
  engine?: FakeTrainer,
  { lagMax = 0, ...over }: Partial<TrainerOptions> = {},
  stopAt?: number,
  life: { now?: () => Promise<void> } = {},
): Promise<FakeTrainer> {
  const mortal = mortalLog(log, fate ?? { commitsLeft: 1e9, lastIsWritten: true });
  life.now = mortal.life;
  const trained = engine ?? fakeTrainer({ before: mortal.life });
  const operator = trainer({
    engine: trained,
    store: weightsStore(folder.path, mortal.log),
    log: mortal.log,
    losses: { policy: loss },
    encode: encodeTiny,
    lr: 0.01,
    miniBatches: 2,
    lagMax,
    clock: manualClock(50),
    ...over,
  });
  const part = sink('trainer', topics.batches, topics.weights, operator, {
    inflightMax: lagMax + 1,
  });
  const stop = new AbortController();
  const running = runFlow(flow(part), {
    log: mortal.log,
    graceMs: 3_600_000,
    signal: stop.signal,
    statsMs: 5,
    onStats: ({ stages }) => {
      if (stages[0]!.inflight === stopAt) stop.abort();
    },
  });
  if (stopAt !== undefined) expect(await running).toBe('stopped');
  else if (fate === undefined) expect(await running).toBe('quiescent');
  else await expect(running).rejects.toThrow('killed');
  return trained;
}

async function reopen(): Promise<void> {
  await log.close();
  log = await open();
}

const file = (weights: Weights): string => join(folder.path, weights.uri);
const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const saved = (manifest: Weights) => weightsStore(folder.path, log).saved(manifest);

beforeEach(async () => {
  folder = temporaryFolder();
  log = await open();
});
afterEach(async () => {
  await log.close();
  folder.remove();
});

describe('trainer', () => {
  test('makes the steps of each batch in order, and publishes a version for each batch', async () => {
    await fill();
    const engine = await train();
    const weights = await all(topics.weights);
    expect(
      weights.map(({ version, parent, step, roundsDone }) => [version, parent, step, roundsDone]),
    ).toEqual([
      [0, -1, 0, 0],
      [1, 0, 1, 0],
      [2, 1, 2, 0],
      [3, 2, 3, 1],
    ]);
    expect(weights.map(({ consumed }) => consumed?.offset)).toEqual([undefined, 0, 1, 2]);
    // Two mini-batches a batch: groups 3 and 2, then 1 and 0.
    expect(engine.steps).toHaveLength(2 * STEPS);
    expect(
      engine.steps.slice(0, 2).map(({ sequences }) => sequences.map(({ tokens }) => tokens.length)),
    ).toEqual([
      [5, 20, 5, 15],
      [5, 10, 5, 5],
    ]);
    expect(engine.steps[0]!.sequences.map(({ advantages }) => advantages[0])).toEqual([
      0.5, -0.5, 0.5, -0.5,
    ]);
    expect(engine.steps[0]).toMatchObject({ loss, lr: 0.01 });
    expect(engine.restores).toEqual([{ ...saved(weights[0]!), state: null, use: 'train' }]);
    const digests = weights.map(({ digest }) => digest);
    expect(weights.map(({ parentDigest }) => parentDigest)).toEqual([
      null,
      ...digests.slice(0, -1),
    ]);
  });

  test('gives shared tokens of branches the mean advantage if attribution is hard', async () => {
    await fill();
    const engine = await train(undefined, undefined, { attribution: 'hard' });
    const [first, second] = engine.steps[0]!.sequences;
    expect([...first!.advantages]).toEqual([0, 0, 0.5, 0.5, 0.5]);
    expect([...second!.advantages]).toEqual([0, 0, ...Array(18).fill(-0.5)]);
  });

  describe('compares log-probs of rollouts with its own, and', () => {
    const agreement = { precision: 'unknown', meanMax: null } as const;
    const numbersOf = async (step: number) =>
      Object.fromEntries(
        (await all(topics.metrics))
          .filter((metric) => metric.step === step)
          .map(({ name, value }) => [name, value]),
      );

    test('undoes a step whose rollouts were made by other weights, and goes on', async () => {
      await fill();
      // The first call of the second batch.
      const apart = (call: number): number => (call === 2 ? 0.06 : 0.01);
      const engine = await train(undefined, fakeTrainer({ apart }), { agreement });
      const weights = await all(topics.weights);
      expect(weights.map(({ version }) => version)).toEqual([0, 1, 2, 3]);
      expect(weights[2]).toMatchObject({
        digest: weights[1]!.digest,
        stateDigest: weights[1]!.stateDigest,
      });
      expect(weights[3]!.digest).not.toBe(weights[2]!.digest);
      expect(engine.steps).toHaveLength(5);
      expect(engine.restores.at(-1)?.weights.uri).toBe(saved(weights[1]!).weights.uri);
      expect(await numbersOf(2)).toMatchObject({
        'step/refused': 1,
        'step/applied': 0,
        'step/skipped': 1,
        'logprob/diff_mean': 0.06,
      });
      expect(await numbersOf(3)).toMatchObject({ 'step/applied': 2, 'step/skipped': 0 });
      expect(await numbersOf(3)).not.toHaveProperty('step/refused');
    });

    test('ends at the second such step in a row', async () => {
      await fill();
      const engine = fakeTrainer({ apart: (call) => (call >= 2 ? 0.06 : 0.01) });
      await expect(train(undefined, engine, { agreement })).rejects.toThrow(
        /step 3 do not come from version 2.*0\.060 nats per token \(allowed: 0\.040: the first weights agreed within 0\.010\)/,
      );
      expect(await all(topics.weights)).toHaveLength(3);
    });

    test('knows the first agreement after a restart', async () => {
      await fill();
      const apart = (): number => 0.001;
      await train({ commitsLeft: 0, lastIsWritten: true }, fakeTrainer({ apart }), { agreement });
      expect(await all(topics.weights)).toHaveLength(2);
      await reopen();
      const later = fakeTrainer({ apart: (call) => (call === 0 ? 0.03 : 0.001) });
      await train(undefined, later, { agreement });
      expect(await numbersOf(2)).toMatchObject({ 'step/refused': 1 });
    });

    test('does not judge rollouts of older versions, which differ rightly', async () => {
      await fill([1, 2, 3], 1);
      const engine = fakeTrainer({ apart: (call) => (call < 2 ? 0.01 : 3) });
      await train(undefined, engine, { agreement, lagMax: 1 });
      expect(engine.steps).toHaveLength(2 * STEPS);
    });

    test('does the same on a replay as recorded', async () => {
      await fill();
      const refused = (step: number): boolean => step === 2;
      await train(undefined, fakeTrainer(), { agreement: null, refused });
      const weights = await all(topics.weights);
      expect(weights[2]!.digest).toBe(weights[1]!.digest);
      expect(await numbersOf(2)).toMatchObject({ 'step/refused': 1, 'step/applied': 0 });
    });
  });

  test('writes the numbers of the step beside its manifest', async () => {
    await fill();
    await train();
    const first = (await all(topics.metrics)).filter(({ step }) => step === 1);
    expect(Object.fromEntries(first.map(({ name, value }) => [name, value]))).toMatchObject({
      'reward/mean': 0.5,
      'accuracy/mean': 0.5,
      'format/valid': 1,
      'tools/mean': 2,
      'tools/mean_correct': 1,
      'len/response': (4 * 5 + 5 + 10 + 15 + 20) / 8,
      'policy/lag': 0,
      loss: 0.5,
      'groups/uniform': 0,
      'rollouts/failed': 0,
      'step/applied': 2,
      'step/skipped': 0,
      'entropy/mean': 0.25,
      'logprob/diff_max': 4,
      'thr/gen_tok_s': 70 / 2,
      'thr/train_tok_s': 70 / 0.02,
      'time/loop_gap_ms': expect.any(Number),
      'time/train_ms': 20,
    });
    expect(first.every(({ round, atMs }: Metric) => round === 1 && atMs === 50)).toBe(true);
    // The screen shows a step when this one has come.
    expect(first.at(-1)!.name).toBe('time/train_ms');
  });

  test('counts the sequences without a gradient, if the trainer says and a replay’s record does', async () => {
    await fill();
    await train(undefined, fakeTrainer({ forwardOnly: 3 }), { counted: (step) => step > 1 });
    const counts = (await all(topics.metrics)).filter(({ name }) => name === 'step/forward_only');
    expect(counts.map(({ step, value }) => [step, value])).toEqual(
      Array.from({ length: STEPS - 1 }, (_, i) => [i + 2, 6]),
    );
  });

  test('keeps the first version, the last two and those that ended a round, with their optimiser states', async () => {
    await fill();
    const next = batchOf(STEPS);
    await log.commit((tx) => {
      for (let step = STEPS + 1; step <= STEPS + 3; step++) {
        tx.append(topics.batches, {
          ...next,
          step,
          version: step - 1,
          round: 2,
          last: step === STEPS + 3,
        });
      }
    });
    await train();
    const weights = await all(topics.weights);
    const kept = weights.filter((one) => existsSync(file(one))).map(({ version }) => version);
    expect(kept).toEqual([0, 3, 5, 6]);
    const optimisers = weights.filter(
      ({ state }) => state !== '' && existsSync(join(folder.path, state)),
    );
    expect(optimisers.map(({ version }) => version)).toEqual([3, 5, 6]);
  });

  test('makes the same step again after a crash before its commit, and the same weights', async () => {
    await fill();
    await train();
    const undisturbed = await all(topics.weights);
    for (let commitsLeft = 0; commitsLeft < STEPS; commitsLeft++) {
      for (const lastIsWritten of [false, true]) {
        await log.close();
        folder.remove();
        folder = temporaryFolder();
        log = await open();
        await fill();
        const before = await train({ commitsLeft, lastIsWritten });
        await reopen();
        const survived = await all(topics.weights);
        expect(survived).toHaveLength(1 + commitsLeft + (lastIsWritten ? 1 : 0));
        const after = await train();
        expect(await all(topics.weights)).toEqual(undisturbed);
        const remade = lastIsWritten ? 0 : 2;
        expect(before.steps.length + after.steps.length).toBe(2 * STEPS + remade);
        if (remade > 0) expect(after.steps[0]).toEqual(before.steps.at(-2));
        for (const one of undisturbed.slice(-2)) {
          if (one.version > 0) expect(await readFile(file(one), 'utf8')).toHaveLength(64);
        }
        expect((await all(topics.metrics)).filter(({ name }) => name === 'loss')).toHaveLength(
          STEPS,
        );
      }
    }
  });

  test('makes the steps in their order when the batches came in another', async () => {
    await fill();
    await train();
    const inOrder = await all(topics.weights);
    await log.close();
    folder.remove();
    folder = temporaryFolder();
    log = await open();
    await fill([3, 2, 1]);
    await train(undefined, undefined, { lagMax: 2 });
    const digests = (weights: readonly Weights[]) => weights.map(({ digest }) => digest);
    expect(digests(await all(topics.weights))).toEqual(digests(inOrder));
  });

  test('leaves batches without their version for the next start when the run stops', async () => {
    await fill([3, 2]);
    await train(undefined, undefined, { lagMax: 2 }, 2);
    expect(await all(topics.weights)).toHaveLength(1);
    await log.commit((tx) => tx.append(topics.batches, batchOf(1)));
    await train(undefined, undefined, { lagMax: 2 });
    const steps = (await all(topics.weights)).map(({ step }) => step);
    expect(steps).toEqual([0, 1, 2, 3]);
  });

  test('whitens advantages over the policy tokens of the batch, before it is split', async () => {
    await fill();
    const engine = await train(undefined, undefined, { whiten: true });
    const advantages = engine.steps
      .slice(0, 2)
      .flatMap(({ sequences }) => sequences)
      .flatMap(({ advantages: own }) => [...own]);
    const mean = advantages.reduce((sum, item) => sum + item, 0) / advantages.length;
    const squares = advantages.reduce((sum, item) => sum + (item - mean) ** 2, 0);
    expect(mean).toBeCloseTo(0, 5);
    expect(squares / (advantages.length - 1)).toBeCloseTo(1, 5);
  });

  test('corrects lagging rollouts by the log-probs of the weights at its step, once a batch', async () => {
    await fill([1, 2, 3], 1);
    const lagCorrection = { kind: 'truncated', cap: 2 } as const;
    const engine = await train(undefined, undefined, { lagCorrection });
    // The first batch cannot lag; of the others two groups of four do, one in each mini-batch.
    expect(engine.scores.map(({ length }) => length)).toEqual([4, 4]);
    const corrected = engine.steps.map(({ sequences }) =>
      sequences.map(({ importance }) => importance !== undefined),
    );
    expect(corrected[0]).toEqual([false, false, false, false]);
    expect(corrected.slice(2)).toEqual(Array(4).fill([true, true, false, false]));
    for (const { sequences } of engine.steps) {
      for (const { importance, oldLogProbs } of sequences) {
        if (importance === undefined) expect(oldLogProbs.every((old) => old === -1)).toBe(true);
        // The sampler's log-prob was -1 everywhere.
        else
          expect([...importance]).toEqual(
            [...oldLogProbs].map((old) => expect.closeTo(Math.min(2, Math.exp(old + 1)), 5)),
          );
      }
    }
    const named = (await all(topics.metrics)).filter(({ name }) => name.startsWith('lag/'));
    expect(named.map(({ name, step }) => `${name} ${step}`)).toEqual([
      ...['lag/weight_mean 2', 'lag/left_out 2', 'lag/weight_mean 3', 'lag/left_out 3'],
    ]);
  });

  test('leaves lagging rollouts as they are by default', async () => {
    await fill([1, 2, 3], 1);
    const engine = await train();
    expect(engine.scores).toEqual([]);
    expect(engine.steps.flatMap(({ sequences }) => sequences).some((s) => s.importance)).toBe(
      false,
    );
  });

  test('compares with the first policy if the loss has a KL penalty, even after a crash', async () => {
    const losses = {
      policy: { ...loss, settings: { kl: { kind: 'k3', coefficient: 0.1 } } } satisfies NamedLoss,
    };
    await fill();
    const { steps } = await train(undefined, undefined, { losses });
    const wanted = await all(topics.weights);
    const first = fakeTrainer();
    await first.restore(saved(wanted[0]!), 'score');
    for (const { sequences } of steps) {
      const scores = await first.score(sequences.map(({ tokens }) => tokens));
      expect(sequences.map(({ refLogProbs }) => refLogProbs)).toEqual(
        scores.map(({ logProbs }) => logProbs),
      );
    }
    for (const reference of [null, fakeTrainer()]) {
      await log.close();
      folder.remove();
      folder = temporaryFolder();
      log = await open();
      await fill();
      await train({ commitsLeft: 1, lastIsWritten: false }, undefined, { losses, reference });
      await reopen();
      await train(undefined, undefined, { losses, reference });
      expect(await all(topics.weights)).toEqual(wanted);
    }
  });

  test('computes the digest of a version once, and none of what it wrote itself', async () => {
    const losses = {
      policy: { ...loss, settings: { kl: { kind: 'k3', coefficient: 0.1 } } } satisfies NamedLoss,
    };
    await fill();
    const { restores } = await train(undefined, undefined, { losses });
    const seen = restores.map(({ weights, state, use }) => [
      ...[use, weights.version, weights.digest !== null],
      state?.digest ?? null,
    ]);
    const [first] = await all(topics.weights);
    expect(seen[0]).toEqual(['score', 0, true, null]);
    expect(restores[0]!.weights.digest).toBe(first!.digest);
    expect(seen.slice(1)).toEqual([
      ...[
        ['train', 0, false, null],
        ['score', 0, false, null],
        ['train', 1, false, null],
      ],
      ...[
        ['score', 0, false, null],
        ['train', 2, false, null],
      ],
    ]);
  });

  test('restores the optimiser state with the version that it goes back to', async () => {
    await fill();
    await train({ commitsLeft: 1, lastIsWritten: false });
    await reopen();
    const engine = await train();
    const [, first] = await all(topics.weights);
    expect(first!.state).toBe('weights/000001.optimiser.safetensors');
    expect(engine.restores).toEqual([{ ...saved(first!), use: 'train' }]);
  });

  describe('saves the optimiser’s state', () => {
    const statesOf = async () =>
      (await all(topics.weights)).map(({ state }) => state !== '').slice(1);
    const onDisk = async () =>
      (await all(topics.weights)).flatMap(({ version, state }) =>
        state !== '' && existsSync(join(folder.path, state)) ? [version] : [],
      );
    const anew = async (): Promise<void> => {
      await log.close();
      folder.remove();
      folder = temporaryFolder();
      log = await open();
      await fill();
    };

    test('after so many versions, or so long', async () => {
      await fill();
      await train(undefined, undefined, { saveEvery: 2 });
      expect(await statesOf()).toEqual([false, true, false]);
      await anew();
      const clock = manualClock(0);
      const turn = async () => clock.advance(40_000);
      await train(undefined, undefined, { saveEvery: { ms: 60_000 }, clock, turn });
      expect(await statesOf()).toEqual([false, true, false]);
    });

    test('of every version where a loss goes back to a reference in each step', async () => {
      await fill();
      const kl = { kind: 'k3', coefficient: 0.1 } as const;
      const losses = { policy: { ...loss, settings: { kl } } satisfies NamedLoss };
      await train(undefined, undefined, { saveEvery: 2, losses });
      expect(await statesOf()).toEqual([true, true, true]);
    });

    test('as it is recorded, on a replay', async () => {
      await fill();
      await train(undefined, undefined, { saveEvery: 2, saved: (version) => version === 1 });
      expect(await statesOf()).toEqual([true, false, false]);
    });

    test('of the newest version alone, where the older ones are not to have theirs', async () => {
      await fill();
      await train({ commitsLeft: 1, lastIsWritten: true }, undefined, { keepVersions: 0 });
      expect(await onDisk()).toEqual([1, 2]);
      await reopen();
      await train(undefined, undefined, { keepVersions: 0, keepStates: 'newest' });
      // That of version 3 may be unwritten when its manifest is committed.
      expect(await onDisk()).toEqual([2, 3]);
    });

    test.each([1, 2, 3])(
      'every %i versions, and repeats the steps since then after a crash, to the same bits',
      async (saveEvery) => {
        const options = {
          saveEvery,
          lagMax: 1,
          lagCorrection: { kind: 'truncated', cap: 2 },
        } as const;
        await fill([1, 2, 3], 1);
        const whole = await train(undefined, undefined, options);
        const undisturbed = await all(topics.weights);
        for (const [commitsLeft, lastIsWritten] of [0, 1, 2].flatMap((n) => [
          [n, false] as const,
          [n, true] as const,
        ])) {
          await log.close();
          folder.remove();
          folder = temporaryFolder();
          log = await open();
          await fill([1, 2, 3], 1);
          const life: { now?: () => Promise<void> } = {};
          const fate = { commitsLeft, lastIsWritten };
          const mortal = fakeTrainer({ beside: true, before: async () => life.now?.() });
          await train(fate, mortal, options, undefined, life);
          const there = await onDisk();
          const survived = (await all(topics.weights)).at(-1)!.version;
          await reopen();
          const said: string[] = [];
          const after = await train(undefined, undefined, {
            ...options,
            report: (line) => said.push(line),
          });
          expect(await all(topics.weights)).toEqual(undisturbed);
          const from = there.findLast((version) => version <= survived) ?? 0;
          const again = survived === STEPS ? [] : whole.steps.slice(2 * from);
          expect(after.steps).toEqual(again);
          expect(said).toHaveLength(survived === STEPS || from === survived ? 0 : 1);
        }
      },
    );

    test('and refuses steps that give other bits the second time', async () => {
      await fill();
      await train({ commitsLeft: 1, lastIsWritten: true }, undefined, { saveEvery: 3 });
      const [, , second] = await all(topics.weights);
      await reopen();
      const engine = fakeTrainer({ elsewhere: true });
      await expect(train(undefined, engine, { saveEvery: 3 })).rejects.toThrow(
        /repeating the steps since version 0 did not reproduce the weights of version 2.*--to step=0/,
      );
      expect(sha256Of(await readFile(file(second!)))).toBe(second!.digest);
      expect(await all(topics.weights)).toHaveLength(3);
    });

    test('and leaves out a refused step when it repeats steps', async () => {
      await fill();
      const agreement = { precision: 'unknown', meanMax: null } as const;
      const options = { agreement, saveEvery: 3 };
      const apart = (call: number): number => (call === 2 ? 0.06 : 0.01);
      const engine = fakeTrainer({ apart });
      await train({ commitsLeft: 1, lastIsWritten: true }, engine, options);
      const [, first, second] = await all(topics.weights);
      expect(second!.digest).toBe(first!.digest);
      // The refused step was undone by repeating the first one.
      expect(engine.steps).toHaveLength(2 + 1 + 2);
      await reopen();
      const after = await train(undefined, undefined, options);
      expect(after.steps).toHaveLength(2 + 2);
      expect(await all(topics.weights)).toHaveLength(1 + STEPS);
    });
  });

  test('ends with the error of a step that fails, and its batch stays', async () => {
    await fill();
    const engine = fakeTrainer({
      before: async (call) => {
        if (call === 'step') throw new Error('out of memory');
      },
    });
    await expect(train(undefined, engine)).rejects.toThrow('out of memory');
    expect(await log.lag(topics.batches, 'trainer')).toBe(STEPS);
    expect(await all(topics.weights)).toHaveLength(1);
  });

  test('learns nothing from failed rollouts, and makes no empty step', async () => {
    await fill();
    const dead = practised(0, GROUPS);
    const none: Rollout[] = group(dead, ['', 'cut off']).map((one) => ({
      ...one,
      status: 'failed',
    }));
    await log.commit((tx) => {
      for (const one of none) tx.append(topics.rollouts, one);
      const at = STEPS * GROUPS * 2;
      const rollouts = [at, at + 1].map((offset) => ({ partition: 0, offset }));
      tx.append(topics.scored, scored({ question: dead, rewards: rewards([0, 0]), rollouts }));
      const empty = { questionId: 'p0', scored: { partition: 0, offset: STEPS * GROUPS } };
      const full = { questionId: 'p1', scored: { partition: 0, offset: 1 } };
      const batch = { ...batchOf(STEPS), last: false };
      tx.append(topics.batches, { ...batch, step: 4, version: 3, groups: [empty, full] });
      tx.append(topics.batches, { ...batch, step: 5, version: 4, groups: [empty] });
    });
    const engine = await train();
    expect(engine.steps).toHaveLength(2 * STEPS + 1);
    expect((await all(topics.weights)).at(-1)).toMatchObject({ version: 5, parent: 4 });
    const values = (await all(topics.metrics)).filter(({ step }) => step === 5);
    expect(values.filter(({ value }) => !Number.isFinite(value))).toEqual([]);
  });
});
