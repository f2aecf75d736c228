/**
 * A dialect by its name, over the tokenizer and the chat template that lie in a policy's folder.
 */
import { MillraceError } from '../../base/index.ts';
import {
  type CallFaults,
  chatFence,
  type Declared,
  type Dialect,
  tagsDialect,
} from '../../operators/dialect/index.ts';
import { nativeDialect, specOf } from '../../operators/dialect/native/index.ts';
import { loadChatPrompt } from './chatPrompt.ts';
import { loadChatTokenizer } from './chatTokenizer.ts';
import { nativeChat } from './nativeChat.ts';

/** The dialects that come with the package. */
export const dialectNames = ['tags', 'native'] as const;
/** One of `dialectNames`. */
export type DialectName = (typeof dialectNames)[number];

export function isDialectName(name: string | undefined): name is DialectName {
  return (dialectNames as readonly (string | undefined)[]).includes(name);
}

/** What a dialect is made of. */
export interface DialectOptions {
  readonly name: DialectName;
  /** Folder with `tokenizer.json` and a chat template. */
  readonly folder: string;
  readonly tools: readonly Declared[];
  /** The system prompt; none when left out or empty. */
  readonly system?: string;
  /** Native: what to do on invalid calls; `answered` when left out. */
  readonly faults?: CallFaults;
}

/** Rejects with `TOKENIZER`, `CHAT_TEMPLATE`, `DIALECT`, or `USAGE` for what only the other dialect has. */
export async function dialectOf(options: DialectOptions): Promise<Dialect> {
  const { name, folder, tools, system = '', faults = 'answered' } = options;
  const asked = { system, tools: tools.map(declarationOf) };
  if (name === 'native') {
    const specs = tools.map(specOf);
    const tokenizer = await loadChatTokenizer(folder);
    const { chat, form } = nativeChat({ tokenizer, tools: specs, system, folder });
    const dialect = nativeDialect({ chat, form, tools: specs, faults });
    return { ...dialect, asked: { ...asked, callFaults: faults } };
  }
  if (faults === 'ends') {
    throw new MillraceError('USAGE', 'callFaults=ends needs dialect=native');
  }
  const { tokenizer, prompt } = await loadChatPrompt(folder, system);
  const names = tools.map((tool) => tool.name);
  const ask = (question: string) => prompt(chatFence(question));
  return { ...tagsDialect({ tokenizer, tools: names, prompt: ask }), asked };
}

/** Of a tool what the policy is told of it. */
function declarationOf({ name, about, parameters }: Declared): Declared {
  return { name, about, ...(parameters === undefined ? {} : { parameters }) };
}
