import { describe, expect, it } from '@jest/globals';
import { draws } from '../../../model/draws.ts';
import { sample } from '../../../model/rollout/sampler.ts';

const LOGITS = Float32Array.from({ length: 24 }, (_, i) => 2 * Math.sin(i * 2.3));

/** Softmax written the slow way. */
function softmax(logits: Float32Array): Float32Array {
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  return Float32Array.from(logits, (logit) => Math.exp(logit) / total);
}

const SHARES = softmax(LOGITS);
const logProbs = [...SHARES].map(Math.log);

describe('sample', () => {
  const draw = (uniform: number, temperature = 1, top = false) =>
    sample(SHARES, { temperature, uniform, top });

  it('takes the most probable token at temperature 0, the first of equals', () => {
    expect(draw(0.99, 0).token).toBe(LOGITS.indexOf(Math.max(...LOGITS)));
    const flat = softmax(new Float32Array(LOGITS.length));
    expect(sample(flat, { temperature: 0, uniform: 0.5, top: false }).token).toBe(0);
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
    const at = (uniform: number) => sample(shares, { temperature: 1, uniform, top: false }).token;
    expect([at(0), at(0.4999), at(0.5), at(1 - 2 ** -53)]).toEqual([1, 1, 3, 3]);
  });

  it('lists the ten highest log-probs, and the sampled one if it is not among them', () => {
    const order = [...LOGITS.keys()].sort((a, b) => LOGITS[b]! - LOGITS[a]!);
    const ten = order.slice(0, 10).map((token) => logProbs[token]!);
    const stream = draws('top');
    const lengths = new Set<number>();
    for (let i = 0; i < 300; i++) {
      const { token, top } = draw(stream.uniform(i), 1, true);
      const outside = !order.slice(0, 10).includes(token);
      const wanted = outside ? [...ten, logProbs[token]!] : ten;
      expect(top.length).toBe(wanted.length);
      for (const [k, value] of wanted.entries()) expect(top[k]).toBeCloseTo(value, 6);
      lengths.add(top.length);
    }
    expect(lengths).toEqual(new Set([10, 11]));
  });

  it('gives what rounding leaves over to the most probable token', () => {
    const shares = Float32Array.from([0.2, 0.5, 0.299999]);
    expect(sample(shares, { temperature: 1, uniform: 0.9999995, top: false }).token).toBe(1);
  });

  it('keeps log-probs finite where a probability has no float32', () => {
    const { top } = sample(Float32Array.from([1, 0]), { temperature: 0, uniform: 0, top: true });
    expect(top.map(Number.isFinite)).toEqual([true, true]);
  });

  it.each([0, 0.5, 1])('refuses what is not a probability (temperature %p)', (temperature) => {
    const broken = new Float32Array(5).fill(Number.NaN);
    expect(() => sample(broken, { temperature, uniform: 0.5, top: false })).toThrow('not finite');
  });
});
