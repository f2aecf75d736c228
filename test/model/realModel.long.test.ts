/**
 * A real chat model, SmolLM2-135M-Instruct, against what transformers and PyTorch say of it (realModel.py).
 *
 * `npm run real-model` makes its folder; without `MILLRACE_REAL_MODEL=FOLDER` nothing is compared.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { EmbeddedEngine } from '../../model/rollout/embeddedEngine.ts';
import { loadTokenizer } from '../../model/tokenizers/loadTokenizer.ts';
import { EmbeddedTrainer } from '../../model/train/trainer.ts';

interface Recorded {
  readonly texts: readonly { readonly text: string; readonly ids: readonly number[] }[];
  readonly chats: readonly {
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly text: string;
  }[];
  readonly scored: { readonly ids: readonly number[]; readonly logProbs: readonly number[] };
  readonly greedy: readonly {
    readonly question: string;
    readonly prompt: readonly number[];
    readonly made: readonly number[];
    readonly text: string;
  }[];
  readonly training: {
    readonly sequences: readonly { readonly ids: readonly number[]; readonly from: number }[];
    readonly lr: number;
    readonly losses: readonly [number, number, number];
    readonly gradNorms: readonly [number, number];
  };
}

const recorded: Recorded = JSON.parse(
  readFileSync(new URL('./realModel.json', import.meta.url), 'utf8'),
);

const given = process.env.MILLRACE_REAL_MODEL;
const folder = given ?? '';
const missing =
  given === undefined
    ? 'MILLRACE_REAL_MODEL names no folder; npm run real-model makes one'
    : existsSync(join(folder, 'config.json'))
      ? null
      : `${folder} has no config.json`;

/** `test`, or a skipped test whose title says what is missing. */
function withModel(title: string, body: () => Promise<void>): void {
  if (missing === null) test(title, body, 300_000);
  else test.skip(`${title} (skipped: ${missing})`, () => undefined);
}

function worst(found: ArrayLike<number>, wanted: ArrayLike<number>): number {
  expect(found).toHaveLength(wanted.length);
  return Array.from(found).reduce(
    (most, value, i) => Math.max(most, Math.abs(value - wanted[i]!)),
    0,
  );
}

/** Between results of float32 on the same weights. */
const CLOSE = 1e-4;

describe('a real model', () => {
  withModel('has the token ids of transformers, and gives the texts back', async () => {
    const tokenizer = await loadTokenizer(folder);
    for (const { text, ids } of recorded.texts) {
      expect({ text, ids: [...tokenizer.encode(text)] }).toEqual({ text, ids });
      expect(tokenizer.decode(ids)).toBe(text);
    }
  });

  withModel('renders chats as transformers does', async () => {
    const tokenizer = await loadTokenizer(folder);
    for (const { messages, text } of recorded.chats)
      expect(tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true })).toBe(text);
  });

  withModel('generates the greedy texts of transformers', async () => {
    const tokenizer = await loadTokenizer(folder);
    const clock = { now: () => performance.now() };
    const engine = await EmbeddedEngine.create({
      weights: folder,
      threads: 2,
      contextMax: 128,
      clock,
    });
    try {
      const made = await Promise.all(
        recorded.greedy.map(({ prompt, made: { length } }) =>
          engine.generate({
            tokens: Int32Array.from(prompt),
            maxTokens: length,
            stopTokens: tokenizer.endTokens ?? [],
            temperature: 0,
            draws: ['real model'],
            topLogProbs: 0,
          }),
        ),
      );
      expect(made.map(({ tokens }) => tokenizer.decode(tokens))).toEqual(
        recorded.greedy.map(({ text }) => text),
      );
      expect(made.map(({ tokens }) => [...tokens])).toEqual(
        recorded.greedy.map((each) => each.made),
      );
    } finally {
      await engine.close();
    }
  });

  withModel(
    'has the log-probs of transformers, and makes two training steps of PyTorch',
    async () => {
      const trainer = await EmbeddedTrainer.create({ policy: folder, threads: 2 });
      try {
        const { scored, training } = recorded;
        const [scores] = await trainer.score([Int32Array.from(scored.ids)]);
        expect(worst(scores!.logProbs.slice(1), scored.logProbs)).toBeLessThan(CLOSE);

        const sequences = training.sequences.map(({ ids, from }) => ({
          tokens: Int32Array.from(ids),
          mask: Uint8Array.from(ids, (_, i) => (i < from ? 0 : 1)),
          advantages: new Float32Array(ids.length),
          oldLogProbs: new Float32Array(ids.length),
        }));
        const step = () => trainer.step({ sequences, loss: { name: 'sft' }, lr: training.lr });
        const steps = [await step(), await step()];
        const after = await trainer.score(sequences.map(({ tokens }) => tokens));
        const answers = after.flatMap(({ logProbs }, i) => [
          ...logProbs.slice(training.sequences[i]!.from),
        ]);
        const last = -answers.reduce((sum, value) => sum + value, 0) / answers.length;
        const losses = [...steps.map(({ loss }) => loss), last];
        const off = (found: number, wanted: number) => Math.abs(found / wanted - 1);
        losses.forEach((loss, i) => {
          expect(off(loss, training.losses[i]!)).toBeLessThan(CLOSE);
        });
        steps.forEach(({ gradNorm }, i) => {
          expect(off(gradNorm, training.gradNorms[i]!)).toBeLessThan(CLOSE);
        });
      } finally {
        await trainer.close();
      }
    },
  );
});
