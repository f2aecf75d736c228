/**
 * The chat template of a policy: a question (and a system prompt) to the tokens from which the policy
 * continues. The question is text from outside and makes no tag tokens.
 */

import type { ChatMessage } from '../chat/chatTemplate.ts';
import type { Tokenizer } from '../engine.ts';
import { loadChatTokenizer } from './chatTokenizer.ts';

export interface ChatPrompt {
  readonly tokenizer: Tokenizer;
  readonly prompt: (question: string) => Int32Array;
}

/** From a folder with `tokenizer.json` and a template. Fails with code `CHAT_TEMPLATE` if there is none. */
export async function loadChatPrompt(folder: string, system: string): Promise<ChatPrompt> {
  const tokenizer = await loadChatTokenizer(folder);
  const before: ChatMessage[] = system === '' ? [] : [{ role: 'system', content: system }];
  const prompt = (question: string) =>
    tokenizer.encodeChat([...before, { role: 'user', content: question }], {
      addGenerationPrompt: true,
    });
  return { tokenizer, prompt };
}
