/**
 * What every policy engine keeps, wherever it computes. The weights are those of `TINY` policies, so that
 * another way of computing them can be asked whether an engine is right.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Checkpoint, Generation, PolicyEngine } from '../../model/engine.ts';
import { byteText, type TokenBytes } from '../../model/rollout/tokenBytes.ts';
import { request } from '../model/rollout/fakeForward.ts';

export interface EngineUnderTest {
  /** Has loaded the first of `versions`; its longest context is 60. */
  readonly engine: PolicyEngine;
  /** Of the engine's tokens. */
  readonly bytes: TokenBytes;
  close(): Promise<void>;
}

export interface ContractFixture {
  /** Versions 0 and 1, of different weights. */
  readonly versions: readonly [Checkpoint, Checkpoint];
  /** Log-probs of the tokens of a sequence under a version at temperature 1; the first is not read. */
  score(version: number, tokens: Int32Array): Promise<Float32Array>;
}

const CONTEXT = [3, 1, 4, 1, 5, 9, 2, 6];

/** `seeds: false` = the same seed gives other tokens there, as on SGLang's CPU. */
export function policyEngineContract(
  name: string,
  fixture: () => ContractFixture,
  open: (versions: ContractFixture['versions']) => Promise<EngineUnderTest>,
  { seeds = true }: { readonly seeds?: boolean } = {},
): void {
  /** Where seeds do not count, what is to come twice is taken as the most probable. */
  const twice = { temperature: seeds ? 1 : 0 };
  const seeded = seeds ? it : it.skip;
  describe(name, () => {
    let under: EngineUnderTest;
    let engine: PolicyEngine;
    beforeAll(async () => {
      under = await open(fixture().versions);
      engine = under.engine;
    });
    afterAll(() => under.close());

    const generate = (more: Parameters<typeof request>[1] = {}) =>
      engine.generate(request(CONTEXT, { maxTokens: 12, ...more }));
    const exact = async ({ tokens, version }: Generation) =>
      (await fixture().score(version, Int32Array.from([...CONTEXT, ...tokens]))).subarray(
        CONTEXT.length,
      );

    seeded('gives the same tokens for the same request, and others for other draws', async () => {
      const [one, again, other] = [
        await generate(),
        await generate(),
        await generate({ draws: ['other'] }),
      ];
      expect([...again.tokens]).toEqual([...one.tokens]);
      expect([...other.tokens]).not.toEqual([...one.tokens]);
    });

    it('takes the most probable tokens at temperature 0', async () => {
      const { tokens, logProbs, topLogProbs } = await generate({ temperature: 0, topLogProbs: 12 });
      expect(tokens).toHaveLength(12);
      expect([...logProbs]).toEqual(topLogProbs.map(([best]) => Math.fround(best!)));
    });

    it('ends with the first stop token, and keeps it', async () => {
      const free = await generate(twice);
      const stopTokens = [free.tokens[5]!, free.tokens[8]!];
      const first = free.tokens.findIndex((token) => stopTokens.includes(token));
      const made = await generate({ ...twice, stopTokens });
      expect(made.finish).toBe('stop');
      expect([...made.tokens]).toEqual([...free.tokens.subarray(0, first + 1)]);
      expect(made.logProbs).toHaveLength(made.tokens.length);
    });

    it('ends with the token that completes a stop text, and keeps it whole', async () => {
      const { bytes } = under;
      const free = await generate({ ...twice, maxTokens: 24 });
      const texts = [...free.tokens].map((token) => byteText(bytes, token));
      // A text over the seam of two tokens, of characters without special meaning.
      const isPlain = (text: string) => /^[\x21-\x7e]{2,}$/.test(text);
      const seam = texts.findIndex(
        (text, place) =>
          place > 2 && isPlain(text.slice(-1) + (texts[place + 1] ?? '').slice(0, 1)),
      );
      expect(seam).toBeGreaterThan(0);
      const stop = texts[seam]!.slice(-1) + texts[seam + 1]!.slice(0, 1);
      const end = texts.findIndex((_, place) =>
        texts
          .slice(0, place + 1)
          .join('')
          .includes(stop),
      );
      const made = await generate({
        ...twice,
        maxTokens: 24,
        stopTexts: ['never said', stop],
      });
      expect([made.finish, made.stopText]).toEqual(['stop', stop]);
      expect([...made.tokens]).toEqual([...free.tokens.subarray(0, end + 1)]);
      expect(made.logProbs).toHaveLength(end + 1);
    });

    it('ends at the requested maximum of tokens, or where the context is full', async () => {
      const short = await generate({ maxTokens: 3 });
      expect([short.finish, short.tokens.length]).toEqual(['length', 3]);
      const full = await generate({ maxTokens: 1000 });
      expect([full.finish, full.tokens.length]).toEqual(['length', 60 - CONTEXT.length]);
    });

    it('gives log-probs at temperature 1 whatever it samples at', async () => {
      for (const temperature of [0, 0.5, 1, 1.7]) {
        const made = await generate({ temperature });
        const scored = await exact(made);
        made.logProbs.forEach((logProb, i) => {
          expect(Math.abs(logProb - scored[i]!)).toBeLessThan(1e-4);
        });
      }
    });

    it('gives the ten highest log-probs of the first tokens, then the sampled one’s', async () => {
      const made = await generate({ topLogProbs: 5, temperature: 2 });
      expect(made.topLogProbs).toHaveLength(5);
      for (const [i, top] of made.topLogProbs.entries()) {
        const sampled = made.logProbs[i]!;
        const near = (value: number) => Math.abs(value - sampled) < 1e-5;
        expect([...top]).toEqual([...top].sort((a, b) => b - a));
        expect(top).toHaveLength(top.slice(0, 10).some(near) ? 10 : 11);
        expect(top.some(near)).toBe(true);
      }
    });

    it('gives no log-probs if none are requested', async () => {
      expect((await generate()).topLogProbs).toEqual([]);
    });

    it('rejects with the reason of an aborted signal, and goes on', async () => {
      const caller = new AbortController();
      const asked = engine.generate(request(CONTEXT, { maxTokens: 50 }), caller.signal);
      caller.abort(new Error('enough'));
      await expect(asked).rejects.toThrow('enough');
      await expect(engine.generate(request(CONTEXT), caller.signal)).rejects.toThrow('enough');
      expect((await generate()).tokens).toHaveLength(12);
    });

    it.each([
      ['an empty context', [], 3],
      ['a context that is too long', Array.from({ length: 60 }, () => 1), 3],
      ['nothing to generate', CONTEXT, 0],
    ])('rejects %s', async (_, tokens, maxTokens) => {
      await expect(engine.generate(request(tokens, { maxTokens }))).rejects.toThrow(
        /context|maxTokens/,
      );
    });

    it('counts what it generated', async () => {
      const before = engine.stats().generatedTokens;
      const { tokens } = await generate();
      expect(engine.stats().generatedTokens - before).toBe(tokens.length);
    });

    it('refuses weights of another digest, and keeps its own', async () => {
      const { versions } = fixture();
      const wrong = { ...versions[1], digest: 'f'.repeat(64) };
      await expect(engine.load(wrong)).rejects.toThrow(/digest/);
      expect((await generate()).version).toBe(versions[0].version);
    });

    it('takes new weights, and records which ones made a generation in flight', async () => {
      const { versions } = fixture();
      const before = await generate(twice);
      const underWay = Array.from({ length: 12 }, (_, i) => generate({ draws: ['under way', i] }));
      const loaded = engine.load(versions[1]);
      const later = generate();
      await loaded;
      const after = await generate();
      expect([before.version, after.version]).toEqual([0, 1]);
      for (const made of [after, await later, ...(await Promise.all(underWay))]) {
        const scored = await exact(made);
        made.logProbs.forEach((logProb, i) => {
          expect(Math.abs(logProb - scored[i]!)).toBeLessThan(1e-4);
        });
      }
      await engine.load(versions[0]);
      expect([...(await generate(twice)).tokens]).toEqual([...before.tokens]);
    });

    it('rejects what is pending when it is closed, and everything after', async () => {
      const pending = generate({ maxTokens: 50 });
      const failed = expect(pending).rejects.toThrow();
      await engine.close();
      await failed;
      await expect(generate()).rejects.toThrow(/closed/);
    });
  });
}
