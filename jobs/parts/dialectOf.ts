/**
 * A dialect by its name, over the tokenizer and the chat template that lie in a policy's folder.
 */
import { MillraceError } from '../../base/errors.ts';
import type { Dialect } from '../../operators/dialect/dialect.ts';
import { chatFence } from '../../operators/dialect/fence.ts';
import { type CallFaults, nativeDialect } from '../../operators/dialect/native/nativeDialect.ts';
import { specOf } from '../../operators/dialect/native/toolCalls.ts';
import { tagsDialect } from '../../operators/dialect/tagsDialect.ts';
import type { Tool } from '../../operators/tools/tool.ts';
import { loadChatPrompt } from './chatPrompt.ts';
import { loadChatTokenizer } from './chatTokenizer.ts';
import { nativeChat } from './nativeChat.ts';

/** The dialects that come with the package. */
export const dialectNames = ['tags', 'native'] as const;
/** One of `dialectNames`. */
export type DialectName = (typeof dialectNames)[number];

/** What a dialect is made of. */
export interface DialectOptions {
  readonly name: DialectName;
  /** Folder with `tokenizer.json` and a chat template. */
  readonly folder: string;
  readonly tools: readonly Pick<Tool, 'name' | 'about' | 'parameters'>[];
  /** The system prompt; none when left out or empty. */
  readonly system?: string;
  /** Native: what becomes of a call that cannot be made; `answered` when left out. */
  readonly faults?: CallFaults;
}

/** Rejects with `TOKENIZER`, `CHAT_TEMPLATE`, `DIALECT`, or `USAGE` for what only the other dialect has. */
export async function dialectOf(options: DialectOptions): Promise<Dialect> {
  const { name, folder, tools, system = '', faults = 'answered' } = options;
  if (name === 'native') {
    const specs = tools.map(specOf);
    const tokenizer = await loadChatTokenizer(folder);
    const { chat, form } = nativeChat({ tokenizer, tools: specs, system, folder });
    return nativeDialect({ chat, form, tools: specs, faults });
  }
  if (faults === 'ends') {
    throw new MillraceError(
      'USAGE',
      'callFaults=ends is for function calling: set dialect=native, or leave it out',
    );
  }
  const { tokenizer, prompt } = await loadChatPrompt(folder, system);
  return tagsDialect({
    tokenizer,
    tools: tools.map((tool) => tool.name),
    prompt: (question) => prompt(chatFence(question)),
  });
}
