/**
 * `growGroup` against the published loop written out a second time, on the vectors and on random scripts.
 */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { draws } from '../../base/draws.ts';
import { aepo } from '../../operators/sampling/aepo.ts';
import { arpo } from '../../operators/sampling/arpo.ts';
import {
  type BatchResult,
  type BatchScript,
  finalOutput,
  runBatch,
} from './rollouts/batchRollout.ts';
import { grownBatch } from './rollouts/grownBatch.ts';
import { type Called, Departure, grownGroups } from './rollouts/grownGroups.ts';
import { decode, encode } from './rollouts/scripted.ts';
import { runVectorFile } from './run.ts';
import { rolloutsBy } from './subjects/rollouts.ts';
import { readVectorFile } from './vectors.ts';

/** Seconds of work; the machine may have other work. */
const LONG_MS = 600_000;

const vectors = (subject: string) =>
  readVectorFile(fileURLToPath(new URL(`../vectors/${subject}.json`, import.meta.url)));

describe.each([
  ['growGroup', grownBatch],
  ['the loop written out', runBatch],
])('%s', (_, run) => {
  test.each(['branch-loop', 'arpo-rollout', 'aepo-rollout'])('gives %s', async (subject) => {
    const report = await runVectorFile(await vectors(subject), rolloutsBy(run));
    expect(report.mismatches).toEqual([]);
    expect(report.passed.product).toBeGreaterThan(0);
  });
});

interface RandomScript extends BatchScript {
  /** What the branching policy was asked: change of entropy, draw, rounds in a row. */
  readonly decisions: (readonly number[])[];
}

/** A script of everything that a policy and tools may do, by numbers that hang on the seed alone. */
function randomScript(seed: number): RandomScript {
  const chance = draws('script', seed);
  const pick = <T>(place: number, from: readonly T[]): T =>
    from[chance.integer(place, from.length)]!;
  const prompts = ['ab', 'cde', 'f'].slice(0, pick(0, [1, 1, 2, 3])).map(encode);
  const settings = {
    initialRollouts: pick(1, [1, 2, 3, 9]),
    beamSize: pick(2, [1, 2, 3, 5]),
    branchProbability: pick(3, [0, 0.2, 0.5, 0.8, 1]),
    entropyWeight: pick(4, [0, 0.2, 1]),
  };
  const method = pick(5, [arpo, aepo]);
  const monitored = method === aepo && chance.uniform(6) < 0.5;
  const tags = pick(7, [['search', 'python'], ['search'], []]);
  const served = new Map<string, number>();
  const coins = draws('coins', seed);
  let drawn = 0;
  const decisions: (readonly number[])[] = [];
  const branching = method(settings);
  return {
    ...settings,
    prompts,
    samples: pick(8, [1, 3, 5, 8]),
    responseLength: pick(9, [40, 90, 200, 400]),
    callLimit: pick(10, [0, 1, 3, 9]),
    attemptsMax: pick(11, [1, 2, 3]),
    vocabSize: 1000,
    tags,
    branching: {
      ...branching,
      decide: (...asked) => {
        decisions.push(asked);
        return branching.decide(...asked);
      },
    },
    decisions,
    counts: pick(12, ['batch', 'group']),
    draw: () => coins.uniform(drawn++),
    baselines: new Map(),
    ...(monitored ? { monitor: { initialEntropyTokens: 50, maxModelLen: 4096 } } : {}),
    generate: ({ context }, maxTokens) => {
      const text = decode(context);
      const nth = served.get(text) ?? 0;
      served.set(text, nth + 1);
      return randomSegment(seed, text, nth, tags, maxTokens);
    },
    attempt: (tag, input, attempt) => {
      const luck = draws('tool', seed, tag, input, attempt);
      if (luck.uniform(0) < 0.2) return null;
      return luck.uniform(1) < 0.1 ? '' : 'r'.repeat(luck.integer(2, 30));
    },
  };
}

/** The same of one prompt, where it does not matter who asks first: a segment hangs on its rollout. */
function orderlessScript(seed: number): RandomScript {
  const { monitor: _, ...script } = randomScript(seed);
  return {
    ...script,
    prompts: script.prompts.slice(0, 1),
    counts: 'group',
    generate: ({ number, context }) =>
      randomSegment(seed, decode(context), number, script.tags, 1000),
  };
}

function randomSegment(
  seed: number,
  context: string,
  nth: number,
  tags: readonly string[],
  maxTokens: number,
): ReturnType<BatchScript['generate']> {
  const luck = draws('segment', seed, context, nth);
  const words = 'abcdefghij'.slice(luck.integer(0, 10)).repeat(luck.uniform(1) < 0.05 ? 60 : 1);
  const tag = tags.length > 0 && luck.uniform(2) < 0.7 ? tags[luck.integer(3, tags.length)]! : null;
  const input = luck.uniform(4) < 0.05 ? ' ' : ` q${luck.integer(5, 9)}\u0085`;
  const after = luck.uniform(6) < 0.1 ? '\n' : '';
  const text =
    tag === null
      ? `${words}${luck.uniform(7) < 0.9 ? '\u0001' : ''}`
      : `${words}<${tag}>${input}</${tag}>${after}`;
  const tokens = encode(text);
  const logprobs = Array.from({ length: 1 + luck.integer(8, 6) }, (_, t) =>
    Array.from(
      { length: 1 + luck.integer(20 + t, 4) },
      (_, i) => -3 * luck.uniform(40 + 9 * t + i),
    ),
  );
  // An engine may cut it short, too.
  const room = luck.uniform(9) < 0.05 ? Math.min(maxTokens, 5) : maxTokens;
  if (tokens.length > room) {
    return { tokens: tokens.slice(0, room), logprobs, finish: 'length', stop: null };
  }
  return { tokens, logprobs, finish: 'stop', stop: tag === null ? null : `</${tag}>` };
}

/** All that a batch comes to: what the trainer gets, whose it is, what was asked and what it took. */
function comesTo(script: RandomScript, result: BatchResult): unknown {
  return {
    ...result,
    trajectories: result.trajectories.map((one) => ({
      prompt: one.prompt,
      kind: one.kind,
      parent: one.parent,
      offset: one.offset,
      round: one.round,
      output: finalOutput(one, script.responseLength),
    })),
    baselines: [...script.baselines].sort(([a], [b]) => a - b),
    decisions: script.decisions,
  };
}

describe('on random scripts', () => {
  test(
    'growGroup gives what the published loop gives',
    async () => {
      let grown = 0;
      for (let seed = 0; seed < 60; seed++) {
        const [script, again] = [randomScript(seed), randomScript(seed)];
        let result: BatchResult;
        try {
          result = await grownBatch(script);
        } catch (error) {
          if (!(error instanceof Departure)) throw error;
          continue;
        }
        expect({ seed, ...(comesTo(script, result) as object) }).toEqual({
          seed,
          ...(comesTo(again, runBatch(again)) as object),
        });
        grown++;
      }
      expect(grown).toBeGreaterThan(40);
    },
    LONG_MS,
  );

  test(
    'growGroup gives the same whatever is answered first, and no branch waits for another but its clones',
    async () => {
      for (let seed = 0; seed < 30; seed++) {
        const [script, again] = [orderlessScript(seed), orderlessScript(seed)];
        const written = runBatch(again);
        const order = draws('order', seed);
        let turn = 0;
        const some = <T>(from: readonly T[]): T[] => from.filter(() => order.uniform(turn++) < 0.5);
        let lastCalls: readonly Called[] = [];
        const [group] = await grownGroups({
          ...script,
          retryEmpty: true,
          attempt: ({ tool, input }, attempt) => script.attempt(tool, input, attempt),
          branching: () => ({
            ...script.branching,
            initialRollouts: Math.min(script.initialRollouts, script.samples),
            decide: (change, _, rounds) => script.branching.decide(change, script.draw(), rounds),
          }),
          served: (waiting) => {
            const served = some(waiting);
            return served.length === 0 && lastCalls.length === 0 ? waiting.slice(-1) : served;
          },
          generate: (served) =>
            served.map(({ index: number, context, room }) => {
              const made = script.generate({ number, context }, room);
              const tokens = made.tokens.slice(0, room);
              if (tokens.length === made.tokens.length) return made;
              return { ...made, tokens, finish: 'length', stop: null };
            }),
          answered: (calls) => {
            const answered = some(calls);
            lastCalls = calls.filter((call) => !answered.includes(call));
            return answered;
          },
        });
        const outputs = group!.rollouts.map(({ tokens, parent, finish }) => ({
          tokens: [...tokens, ...(finish === 'callLimit' ? [1] : [])],
          parent,
        }));
        expect({ seed, outputs }).toEqual({
          seed,
          outputs: written.trajectories.map((one) => ({
            tokens: one.context.slice(one.promptLength).slice(0, script.responseLength),
            parent: one.parent === null ? null : { index: one.parent, offset: one.offset },
          })),
        });
        expect(script.decisions).toEqual(again.decisions);
      }
    },
    LONG_MS,
  );
});
