import { describe, expect, it } from '@jest/globals';
import { draws } from '../../../model/draws.ts';
import { Sampler } from '../../../model/rollout/sampler.ts';

const LOGITS = Float32Array.from({ length: 24 }, (_, i) => 2 * Math.sin(i * 2.3));

/** Log-softmax written the slow way. */
function logProb(logits: Float32Array, token: number): number {
  return logits[token]! - Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
}

describe('Sampler', () => {
  const sampler = new Sampler(LOGITS.length);
  const sample = (uniform: number, temperature = 1, top = false) =>
    sampler.sample(LOGITS, { temperature, uniform, top });

  it('takes the most probable token at temperature 0, the first of equals', () => {
    expect(sample(0.99, 0).token).toBe(LOGITS.indexOf(Math.max(...LOGITS)));
    const flat = new Float32Array(LOGITS.length);
    expect(sampler.sample(flat, { temperature: 0, uniform: 0.5, top: false }).token).toBe(0);
  });

  it.each([0.5, 1, 1.7])(
    'draws tokens as often as softmax at temperature %p says',
    (temperature) => {
      const stream = draws('sampler', temperature);
      const counts = new Float64Array(LOGITS.length);
      const total = 20_000;
      for (let i = 0; i < total; i++)
        counts[sample(stream.uniform(i), temperature).token]! += 1 / total;
      const cold = LOGITS.map((logit) => logit / temperature);
      for (const [token, share] of counts.entries()) {
        expect(Math.abs(share - Math.exp(logProb(cold, token)))).toBeLessThan(0.012);
      }
    },
  );

  it('reports the log-prob at temperature 1 whatever the temperature of the draw', () => {
    for (const temperature of [0, 0.3, 1, 2]) {
      const { token, logProb: found } = sample(0.4, temperature);
      expect(found).toBeCloseTo(logProb(LOGITS, token), 6);
    }
  });

  it('covers the ends of the unit interval and skips tokens without probability', () => {
    const logits = Float32Array.from([-1e9, 0, -1e9, 0, -1e9]);
    const small = new Sampler(5);
    const at = (uniform: number) =>
      small.sample(logits, { temperature: 1, uniform, top: false }).token;
    expect([at(0), at(0.4999), at(0.5), at(1 - 2 ** -53)]).toEqual([1, 1, 3, 3]);
  });

  it('lists the ten highest log-probs, and the sampled one if it is not among them', () => {
    const order = [...LOGITS.keys()].sort((a, b) => LOGITS[b]! - LOGITS[a]!);
    const ten = order.slice(0, 10).map((token) => logProb(LOGITS, token));
    const stream = draws('top');
    const lengths = new Set<number>();
    for (let i = 0; i < 300; i++) {
      const { token, top } = sample(stream.uniform(i), 1, true);
      const outside = !order.slice(0, 10).includes(token);
      const wanted = outside ? [...ten, logProb(LOGITS, token)] : ten;
      expect(top.length).toBe(wanted.length);
      for (const [k, value] of wanted.entries()) expect(top[k]).toBeCloseTo(value, 6);
      lengths.add(top.length);
    }
    expect(lengths).toEqual(new Set([10, 11]));
  });

  it('refuses logits that are not finite', () => {
    const broken = LOGITS.slice();
    broken[3] = Number.NaN;
    expect(() => sampler.sample(broken, { temperature: 1, uniform: 0, top: false })).toThrow(
      'not finite',
    );
  });
});
