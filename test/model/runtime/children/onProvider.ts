/**
 * Generates, scores and takes a step on a provider, engine and trainer at the same time, and the same on the
 * CPU. Arguments: the provider, a policy file, a folder. Prints one line of JSON: what both gave, or the
 * error.
 */
import { join } from 'node:path';
import { MillraceError } from '../../../../base/errors.ts';
import type { TrainSequence } from '../../../../model/engine.ts';
import { EmbeddedEngine } from '../../../../model/rollout/embeddedEngine.ts';
import type { Provider } from '../../../../model/runtime/provider.ts';
import { EmbeddedTrainer } from '../../../../model/train/trainer.ts';
import { request } from '../../rollout/fakeForward.ts';

const [provider, weights, folder] = process.argv.slice(2) as [Provider, string, string];
const prompts = [
  [1, 2, 3],
  [4, 5, 6, 7, 8],
];

function example(tokens: readonly number[]): TrainSequence {
  return {
    tokens: Int32Array.from(tokens),
    mask: Uint8Array.from(tokens, (_, place) => (place === 0 ? 0 : 1)),
    advantages: Float32Array.from(tokens, () => 1),
    oldLogProbs: new Float32Array(tokens.length),
  };
}

async function work(on: Provider) {
  const clock = { now: () => 0 };
  const options = { weights, provider: on, threads: 1, rowsMax: 4, contextMax: 64, clock };
  const [engine, trainer] = await Promise.all([
    EmbeddedEngine.create(options),
    EmbeddedTrainer.create({ policy: weights, provider: on }),
  ]);
  const generate = () =>
    Promise.all(
      prompts.map(async (prompt, id) => {
        const made = await engine.generate(
          request(prompt, { draws: [id], temperature: 0, maxTokens: 8 }),
        );
        return { tokens: [...prompt, ...made.tokens], logProbs: [...made.logProbs] };
      }),
    );
  const sequences = prompts.map((prompt) => example([...prompt, 9, 10, 11]));
  const [generated, { loss, gradNorm }] = await Promise.all([
    generate(),
    trainer.step({ sequences, loss: { name: 'sft' }, lr: 0.01 }),
  ]);
  const saved = join(folder, `${on}.safetensors`);
  await trainer.write(saved);
  await engine.load({ version: 1, uri: saved, digest: null });
  const later = await generate();
  const scores = await trainer.score(later.map(({ tokens }) => Int32Array.from(tokens)));
  await Promise.all([engine.close(), trainer.close()]);
  const scored = later.map(({ logProbs }, row) =>
    Array.from(scores[row]?.logProbs.slice(-logProbs.length) ?? []),
  );
  return { generated, loss, gradNorm, later, scored };
}

function said(error: unknown) {
  if (!(error instanceof MillraceError)) throw error;
  return { error: { code: error.code, message: error.message } };
}

const there = await work(provider).catch(said);
const here = 'error' in there ? null : await work('cpu');
console.log(JSON.stringify({ there, here }));
