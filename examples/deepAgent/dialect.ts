/** How the small policy writes and is prompted. */
import type { Tokenizer } from 'millrace';
import { type DeepDialect, deepDialect } from 'millrace/operators';
import { firstMessage } from './world/message.ts';

/** Uses the tokenizer of the base policy; its chat template is a question between two tags. */
export function smallDialect(
  tokenizer: Tokenizer,
  mode: 'repaired' | 'reference' = 'repaired',
): DeepDialect {
  const prompt = (message: string): Int32Array =>
    Int32Array.from([
      tokenizer.id('<|question|>'),
      ...tokenizer.encode(message, { tags: false }),
      tokenizer.endToken,
    ]);
  return deepDialect({ tokenizer, prompt, form: 'open', mode, first: firstMessage });
}
