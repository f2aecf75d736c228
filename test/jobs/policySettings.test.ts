import { describe, expect, it } from '@jest/globals';
import { evaluateSettings } from '../../jobs/evaluate.ts';
import { policySettings } from '../../jobs/policySettings.ts';
import { samplingIn } from '../../model/sampling.ts';

const fromAll = { topP: 1, topK: 0, minP: 0, repetitionPenalty: 1 };

describe('how a job samples', () => {
  it('is at temperature 1 from all tokens in training, and greedy in evaluations, unless set', () => {
    expect(samplingIn(policySettings.parse({}))).toEqual({ temperature: 1, ...fromAll });
    expect(samplingIn(evaluateSettings.parse({}))).toEqual({ temperature: 0, ...fromAll });
    const set = { temperature: 0.6, topP: 0.95, topK: 20, minP: 0.05, repetitionPenalty: 1.1 };
    expect(samplingIn(policySettings.parse(set))).toEqual(set);
    expect(samplingIn(evaluateSettings.parse(set))).toEqual(set);
  });

  it.each([
    { temperature: -1 },
    { topP: 0 },
    { topP: 1.5 },
    { topK: 2.5 },
    { topK: -1 },
    { minP: 1 },
    { repetitionPenalty: 0 },
    { swap: 'never' },
  ])('refuses %j', (wrong) => {
    expect(policySettings.safeParse(wrong).success).toBe(false);
  });

  it('swaps weights between generations unless set', () => {
    expect(policySettings.parse({}).swap).toBe('rollout');
    expect(policySettings.parse({ swap: 'token' }).swap).toBe('token');
  });
});
