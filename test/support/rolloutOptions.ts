/** Options of a rollout over fakes, and the invariants that every rollout keeps. */
import { expect } from '@jest/globals';
import type { PolicyGate } from '../../operators/gate.ts';
import type { RolloutOptions } from '../../operators/rollout.ts';
import type { Branching } from '../../operators/sampling/branching.ts';
import { fakeTools } from '../../testing/fakeTools.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { type ScriptedPolicyOptions, scriptedPolicy } from '../../testing/scriptedPolicy.ts';
import type { Rollout } from '../../topics/index.ts';
import { tinyDialect, tinyWords } from './tinyWords.ts';

/** Every policy version is the one that is due; of a round so many are let in at once. */
export const openGate: PolicyGate = {
  version: 0,
  inflight: 0,
  withFirstVersion: (asked) => asked,
  admission: (free) => {
    const waiting: (() => void)[] = [];
    const leave = (): void => {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    };
    return {
      admit: async () => {
        if (free > 0) free--;
        else await new Promise<void>((enter) => waiting.push(enter));
        return leave;
      },
    };
  },
  close: async () => undefined,
};

export function rolloutOptions(
  script: ScriptedPolicyOptions['script'],
  over: Omit<Partial<RolloutOptions>, 'branching'> & {
    readonly branching?: Branching;
    readonly policy?: Partial<ScriptedPolicyOptions>;
    readonly answers?: Readonly<Record<string, (input: string) => string>>;
  } = {},
): RolloutOptions {
  const { policy, answers, branching = null, ...rest } = over;
  const tokenizer = tinyWords;
  const answering = answers ?? { search: (q: string) => `found ${q}`, python: () => '2' };
  return {
    engine: scriptedPolicy({ tokenizer, script, ...policy }),
    dialect: tinyDialect(Object.keys(answering)),
    tools: fakeTools({ answers: answering }),
    gate: openGate,
    seed: 7,
    samples: () => 2,
    branching: () => branching,
    temperature: 1,
    responseMax: 200,
    callLimit: 3,
    concurrency: 4,
    clock: manualClock(),
    ...rest,
  };
}

/** What holds true of every rollout, however it ended. */
export function expectSound(rollout: Rollout, responseMax: number): void {
  const { tokens, logProbs, segments } = rollout;
  expect(tokens.length).toBeLessThanOrEqual(responseMax);
  expect(logProbs).toHaveLength(tokens.length);
  let end = 0;
  for (const segment of segments) {
    expect(segment.start).toBe(end);
    expect(segment.end).toBeGreaterThan(segment.start);
    end = segment.end;
    const within = [...logProbs.subarray(segment.start, segment.end)];
    if (segment.kind === 'tool') expect(within.every((logProb) => logProb === 0)).toBe(true);
    else expect(within.every((logProb) => logProb < 0)).toBe(true);
  }
  expect(end).toBe(tokens.length);
}
