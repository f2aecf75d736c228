/**
 * A step by the loss, on a policy of a few weights: what it reports against the same sum over the policy's
 * own log-probs.
 */
import { type DecoderConfig, initialise } from '../../../model/config.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';

const config: DecoderConfig = {
  ...{ architecture: 'qwen2', vocabSize: 20, hiddenSize: 16, layers: 1, heads: 2, kvHeads: 1 },
  ...{ intermediateSize: 24, ropeTheta: 100, rmsEps: 1e-6 },
  ...{ attentionBias: true, tiedEmbeddings: true },
};
const tokens = Int32Array.of(1, 7, 3, 9, 2);
const advantages = Float32Array.of(0, 0, 1, -0.5, 2);
const mask = Uint8Array.of(0, 0, 1, 1, 1);

export default async function run(): Promise<unknown> {
  const policy = { config, tensors: initialise(config, 1) };
  const trainer = await EmbeddedTrainer.create({ policy });
  const sequences = [{ tokens, mask, advantages, oldLogProbs: new Float32Array(5) }];
  const loss = { name: 'reinforce', settings: { strength: 2 } };
  const step = await trainer.step({ sequences, loss, lr: 0 });
  const [score] = await trainer.score([tokens]);
  const terms = [2, 3, 4].map((t) => (-2 * advantages[t]! * score!.logProbs[t]!) / 3);
  const wrong = trainer.step({ sequences, loss: { ...loss, settings: { force: 1 } }, lr: 0 });
  const refused = await wrong.then(
    () => false,
    () => true,
  );
  await trainer.close();
  const expected = terms.reduce((sum, term) => sum + term, 0);
  return { close: Math.abs(step.loss - expected) < 1e-5, refused };
}
