/**
 * The tokenizer of a policy's folder with its chat template, whichever kind it is: our word vocabulary takes
 * its template from `chat_template.jinja` next to it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../../base/index.ts';
import { chatTemplate } from '../chat/chatTemplate.ts';
import { guardedParts } from '../chat/guardedParts.ts';
import type { LoadedTokenizer } from '../tokenizers/loadedTokenizer.ts';
import { loadTokenizer } from '../tokenizers/loadTokenizer.ts';

/** Fails with code `CHAT_TEMPLATE` if there is no template, and as `loadTokenizer` does. */
export async function loadChatTokenizer(folder: string): Promise<LoadedTokenizer> {
  const tokenizer = await loadTokenizer(folder);
  if (tokenizer.chat) return tokenizer;
  const path = join(folder, 'chat_template.jinja');
  const source = await readFile(path, 'utf8').catch(() => null);
  if (source === null) {
    throw new MillraceError(
      'CHAT_TEMPLATE',
      `the tokenizer in ${folder} has no chat template; add one as chat_template.jinja (that of the chat model it comes from)`,
      { context: { folder } },
    );
  }
  const template = chatTemplate(path, source, {});
  return {
    ...tokenizer,
    chat: true,
    applyChatTemplate: template.render,
    chatRuns: template.runs,
    chatParts: (messages, options) => guardedParts(template, messages, options),
    encodeChat: (messages, options) =>
      tokenizer.encodeParts(guardedParts(template, messages, options)),
  };
}
