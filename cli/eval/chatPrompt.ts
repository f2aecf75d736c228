/**
 * The chat template of a policy: a question (and a system prompt) to the tokens that the policy goes on from. The question
 * is text from outside and makes no tag tokens.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../../base/errors.ts';
import type { Tokenizer } from '../../model/engine.ts';
import { type ChatMessage, chatTemplate } from '../../model/hf/chatTemplate.ts';
import { guardedParts } from '../../model/hf/guardedParts.ts';
import { loadTokenizer } from '../../model/hf/loadTokenizer.ts';

export interface ChatPrompt {
  readonly tokenizer: Tokenizer;
  readonly prompt: (question: string) => Int32Array;
}

/** From a folder with `tokenizer.json` and a template. Fails with code `CHAT_TEMPLATE` when there is none. */
export async function loadChatPrompt(folder: string, system: string): Promise<ChatPrompt> {
  const tokenizer = await loadTokenizer(folder);
  const before: ChatMessage[] = system === '' ? [] : [{ role: 'system', content: system }];
  const messages = (question: string): ChatMessage[] => [
    ...before,
    { role: 'user', content: question },
  ];
  if (tokenizer.chat) {
    const prompt = (question: string) =>
      tokenizer.encodeChat(messages(question), { addGenerationPrompt: true });
    return { tokenizer, prompt };
  }
  const render = await templateIn(folder);
  const prompt = (question: string): Int32Array => {
    const parts = guardedParts(folder, messages(question), render);
    const tokens = parts.map(({ text, tags }) => [...tokenizer.encode(text, { tags })]);
    return Int32Array.from(tokens.flat());
  };
  return { tokenizer, prompt };
}

async function templateIn(folder: string): Promise<(messages: readonly ChatMessage[]) => string> {
  const path = join(folder, 'chat_template.jinja');
  const source = await readFile(path, 'utf8').catch(() => null);
  if (source === null) {
    throw new MillraceError(
      'CHAT_TEMPLATE',
      `${folder} has a tokenizer without a chat template; put one into chat_template.jinja beside it`,
      { context: { folder } },
    );
  }
  const template = chatTemplate(path, source, {});
  return (messages) => template.render(messages, { addGenerationPrompt: true });
}
