/** The dialect by its name, over a policy that generates, and an example that is learnt in it. */
import { join } from 'node:path';
import { type DialectName, dialectOf } from '../../../jobs/dialects/dialectOf.ts';
import { dialectSetting } from '../../../jobs/parts/chosenPrompt.ts';
import { EmbeddedEngine } from '../../../model/rollout/embeddedEngine.ts';
import { impatientClock } from '../../support/impatientClock.ts';

/** A folder with a small policy. */
const folder = process.env.POLICY!;

export default async function run(): Promise<unknown> {
  const name = dialectSetting.parse('plain') as DialectName;
  const dialect = await dialectOf({ name, folder, tools: [], system: '' });
  const { tokenizer, stopTokens } = dialect;
  const weights = join(folder, 'policy.safetensors');
  const clock = impatientClock();
  const engine = await EmbeddedEngine.create({ weights, threads: 1, contextMax: 64, clock });
  await engine.load({ version: 0, uri: weights, digest: null });
  const { tokens } = await engine.generate({
    ...{ tokens: dialect.prompt('1 + 2'), maxTokens: 8, stopTokens, temperature: 0 },
    ...{ draws: ['recipe'], topLogProbs: 0 },
  });
  await engine.close();
  const text = tokenizer.decode([...tokens]);
  const example = dialect.encodeExample('1 + 2', '<answer>3</answer>', 'masked');
  const learnt = [...example.tokens].filter((_, i) => example.mask[i] === 1);
  return {
    turn: dialect.turn([text], { token: tokens.at(-1)!, text: null }),
    read: dialect.read([{ author: 'policy', text, ended: true }]),
    learnt: tokenizer.decode(learnt.slice(0, -1)),
    ends: learnt.at(-1) === tokenizer.endToken,
  };
}
