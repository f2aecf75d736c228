import { describe, expect, it } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { type SampleOptions, sample as sampled } from '../../../model/rollout/sampler.ts';
import type { Shaping } from '../../../model/rollout/shaping.ts';

const LOGITS = Float32Array.from({ length: 24 }, (_, i) => 2 * Math.sin(i * 2.3));

const PLAIN: Shaping = { temperature: 1, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1 };

/** `sample` with few options. */
function sample(
  shares: Float32Array,
  {
    temperature = 1,
    ...more
  }: Partial<SampleOptions> & { readonly temperature?: number; readonly uniform: number },
) {
  return sampled(shares, {
    shaping: { ...PLAIN, temperature },
    repeated: { tokens: new Set(), peak: 0 },
    top: 0,
    entropy: false,
    ...more,
  });
}

/** Softmax written the slow way. */
function softmax(logits: Float32Array): Float32Array {
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  return Float32Array.from(logits, (logit) => Math.exp(logit) / total);
}

const SHARES = softmax(LOGITS);
const logProbs = [...SHARES].map(Math.log);

describe('sample', () => {
  const draw = (uniform: number, temperature = 1, top = 0) =>
    sample(SHARES, { temperature, uniform, top });

  it('takes the most probable token at temperature 0, the first of equals', () => {
    expect(draw(0.99, 0).token).toBe(LOGITS.indexOf(Math.max(...LOGITS)));
    const flat = softmax(new Float32Array(LOGITS.length));
    expect(sample(flat, { temperature: 0, uniform: 0.5, top: 0 }).token).toBe(0);
  });

  it.each([0.5, 1, 1.7])(
    'draws tokens as often as softmax at temperature %p says',
    (temperature) => {
      const stream = draws('sampler', temperature);
      const counts = new Float64Array(LOGITS.length);
      const total = 20_000;
      for (let i = 0; i < total; i++)
        counts[draw(stream.uniform(i), temperature).token]! += 1 / total;
      const wanted = softmax(LOGITS.map((logit) => logit / temperature));
      for (const [token, share] of counts.entries()) {
        expect(Math.abs(share - wanted[token]!)).toBeLessThan(0.012);
      }
    },
  );

  it('reports the log-prob at temperature 1 whatever the temperature of the draw', () => {
    for (const temperature of [0, 0.3, 1, 2]) {
      const { token, logProb: found } = draw(0.4, temperature);
      expect(found).toBeCloseTo(logProbs[token]!, 6);
    }
  });

  it('covers the ends of the unit interval and skips tokens without probability', () => {
    const shares = Float32Array.from([0, 0.5, 0, 0.5, 0]);
    const at = (uniform: number) => sample(shares, { temperature: 1, uniform, top: 0 }).token;
    expect([at(0), at(0.4999), at(0.5), at(1 - 2 ** -53)]).toEqual([1, 1, 3, 3]);
  });

  it('lists the ten highest log-probs, and the sampled one if it is not among them', () => {
    const order = [...LOGITS.keys()].sort((a, b) => LOGITS[b]! - LOGITS[a]!);
    const ten = order.slice(0, 10).map((token) => logProbs[token]!);
    const stream = draws('top');
    const lengths = new Set<number>();
    for (let i = 0; i < 300; i++) {
      const { token, top } = draw(stream.uniform(i), 1, 10);
      const outside = !order.slice(0, 10).includes(token);
      const wanted = outside ? [...ten, logProbs[token]!] : ten;
      expect(top.length).toBe(wanted.length);
      for (const [k, value] of wanted.entries()) expect(top[k]).toBeCloseTo(value, 6);
      lengths.add(top.length);
    }
    expect(lengths).toEqual(new Set([10, 11]));
  });

  it('gives the remainder of rounding to the most probable token', () => {
    const shares = Float32Array.from([0.2, 0.5, 0.299999]);
    expect(sample(shares, { temperature: 1, uniform: 0.9999995, top: 0 }).token).toBe(1);
  });

  it('gives as many of the top log-probs as requested, or all there are', () => {
    const ranked = logProbs.toSorted((a, b) => b - a);
    for (const most of [1, 5, 50]) {
      const { top, token } = draw(0.5, 0, most);
      expect(token).toBe(LOGITS.indexOf(Math.max(...LOGITS)));
      expect(top).toHaveLength(Math.min(most, LOGITS.length));
      for (const [i, one] of top.entries()) expect(one).toBeCloseTo(ranked[i]!, 5);
    }
  });

  it('keeps log-probs finite if a probability has no float32', () => {
    const { top } = sample(Float32Array.from([1, 0]), { temperature: 0, uniform: 0, top: 10 });
    expect(top.map(Number.isFinite)).toEqual([true, true]);
  });

  it.each([0, 0.5, 1])('refuses what is not a probability (temperature %p)', (temperature) => {
    const broken = new Float32Array(5).fill(Number.NaN);
    expect(() => sample(broken, { temperature, uniform: 0.5, top: 0 })).toThrow('not finite');
  });
});

describe('a shaped draw', () => {
  const peak = Math.max(...LOGITS);
  const stream = draws('shaped');
  /** Shares of tokens over many draws. */
  const counted = (shaping: Partial<Shaping>, seen: readonly number[] = []) => {
    const counts = new Float64Array(LOGITS.length);
    const repeated = { tokens: new Set(seen), peak };
    for (let i = 0; i < 20_000; i++) {
      const options = { shaping: { ...PLAIN, ...shaping }, repeated, uniform: stream.uniform(i) };
      counts[sample(SHARES, options).token]! += 1 / 20_000;
    }
    return counts;
  };
  /** The same by the definition: logits, then what is kept of their softmax. */
  const wanted = (
    logits: Float32Array,
    kept: (shares: Float32Array) => (token: number) => boolean,
  ) => {
    const shares = softmax(logits);
    const keep = kept(shares);
    const left = shares.map((share, token) => (keep(token) ? share : 0));
    const total = left.reduce((sum, share) => sum + share, 0);
    return left.map((share) => share / total);
  };
  const rank = (shares: Float32Array) => {
    const order = [...shares.keys()].sort((a, b) => shares[b]! - shares[a]!);
    return (token: number) => order.indexOf(token);
  };
  /** Share of the tokens that are more probable. */
  const before = (shares: Float32Array, token: number) =>
    shares.reduce((sum, share) => sum + (share > shares[token]! ? share : 0), 0);

  it.each([
    ['topK', { topK: 5 }, (shares: Float32Array) => (token: number) => rank(shares)(token) < 5],
    [
      'topP',
      { topP: 0.7 },
      (shares: Float32Array) => (token: number) => before(shares, token) < 0.7,
    ],
    [
      'minP',
      { minP: 0.3 },
      (shares: Float32Array) => (token: number) => shares[token]! >= 0.3 * Math.max(...shares),
    ],
  ] as const)('keeps what %s keeps, and renormalises', (_, shaping, kept) => {
    for (const temperature of [1, 1.6]) {
      const counts = counted({ ...shaping, temperature });
      const want = wanted(
        LOGITS.map((logit) => logit / temperature),
        kept,
      );
      expect(want.filter((share) => share > 0).length).toBeLessThan(LOGITS.length - 5);
      for (const [token, share] of counts.entries()) {
        if (want[token] === 0) expect(share).toBe(0);
        expect(Math.abs(share - want[token]!)).toBeLessThan(0.015);
      }
    }
  });

  it('divides positive logits of earlier tokens by the penalty, and multiplies negative ones', () => {
    const seen = [1, 2, 3, 4, 5, 6];
    const penalised = LOGITS.map((logit, token) => {
      if (!seen.includes(token)) return logit;
      return logit > 0 ? logit / 1.8 : logit * 1.8;
    });
    const want = softmax(penalised);
    const counts = counted({ repetitionPenalty: 1.8 }, seen);
    for (const [token, share] of counts.entries())
      expect(Math.abs(share - want[token]!)).toBeLessThan(0.012);
    const greedy = { ...PLAIN, temperature: 0, repetitionPenalty: 50 };
    const best = LOGITS.indexOf(peak);
    const repeated = { tokens: new Set([best]), peak };
    const { token } = sample(SHARES, { shaping: greedy, repeated, uniform: 0 });
    expect(token).toBe(LOGITS.map((logit, i) => (i === best ? -9 : logit)).indexOf(secondBest()));
  });

  it('keeps one token at the narrowest, the first of equals', () => {
    const flat = softmax(new Float32Array(8));
    for (const shaping of [{ topK: 1 }, { topP: 1e-9 }, { topK: 3, topP: 0.3 }])
      expect(
        sample(flat, {
          shaping: { ...PLAIN, ...shaping },
          uniform: 0.999,
          repeated: { tokens: new Set(), peak: 0 },
        }).token,
      ).toBe(0);
  });

  it('reports log-prob and entropy of the whole vocabulary, unshaped', () => {
    const shaping = { ...PLAIN, temperature: 0.4, topK: 3 };
    const { token, logProb, entropy } = sample(SHARES, { shaping, uniform: 0.3, entropy: true });
    expect(logProb).toBeCloseTo(logProbs[token]!, 6);
    const exact = -[...SHARES].reduce((sum, share) => sum + share * Math.log(share), 0);
    expect(entropy).toBeCloseTo(exact, 6);
  });
});

function secondBest(): number {
  return [...LOGITS].sort((a, b) => b - a)[1]!;
}
