/**
 * A rendered chat in parts: what the template, the job and the policy wrote, and what came from outside, in
 * whatever form the template gave it (trimmed, split, quoted as JSON).
 */

import type { Run } from '../../jinja/index.ts';
import type { TextPart } from '../hf/bpeTokenizer.ts';
import type { ChatMessage, ChatOptions, ChatTemplate } from './chatTemplate.ts';

/** The parts of a chat; only those with `tags` may give tag tokens. Throws `CHAT_TEMPLATE`. */
export function guardedParts(
  template: Pick<ChatTemplate, 'runs'>,
  messages: readonly ChatMessage[],
  options?: ChatOptions,
): readonly TextPart[] {
  return partsOf(template.runs(messages, options));
}

/** Stretches of a rendering as parts to encode. */
export function partsOf(runs: readonly Run[]): readonly TextPart[] {
  return runs.map(({ text, origin }) => ({ text, tags: !origin?.outside }));
}
