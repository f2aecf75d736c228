/** What a tokenizer from a folder can do. */
import { MillraceError } from '../../base/index.ts';
import type { ChatMessage, ChatOptions, ChatTemplate } from '../chat/chatTemplate.ts';
import type { Tokenizer } from '../engine.ts';
import type { TextPart } from '../hf/bpeTokenizer.ts';

/** A tokenizer with its special tokens and, if the folder has one, its chat template. */
export interface LoadedTokenizer extends Tokenizer {
  /** As in `BpeTokenizer`; of the word vocabulary each part by itself. */
  encodeParts(parts: readonly TextPart[]): Int32Array;
  /** The token that begins a text, if the checkpoint has one; `encode` never adds it. */
  readonly startToken: number | null;
  /** Every token that ends the policy's turn; the first is `endToken`. */
  readonly endTokens: readonly number[];
  /** What a user should know; empty if all is well. */
  readonly problems: readonly string[];
  /** Whether there is a chat template. */
  readonly chat: boolean;
  /**
   * Messages as the text that the policy was trained on. Throws `CHAT_TEMPLATE`, even when there is no
   * template.
   */
  applyChatTemplate(messages: readonly ChatMessage[], options?: ChatOptions): string;
  /** The same text in stretches, each with the message that it was taken from. Throws `CHAT_TEMPLATE`. */
  chatRuns: ChatTemplate['runs'];
  /**
   * Messages as tokens. The content of `user` and `tool` messages is untrusted and yields no tags; everything
   * else is encoded as by `encode(applyChatTemplate(…))`.
   */
  encodeChat(messages: readonly ChatMessage[], options?: ChatOptions): Int32Array;
  /**
   * `applyChatTemplate` in stretches, those from outside without tags: for callers that encode parts of a
   * conversation separately. Throws `CHAT_TEMPLATE`.
   */
  chatParts(messages: readonly ChatMessage[], options?: ChatOptions): readonly TextPart[];
}

/** Throws `CHAT_TEMPLATE`: there is no template at `path`. */
export function noTemplate(path: string): never {
  throw new MillraceError(
    'CHAT_TEMPLATE',
    `${path} has no chat template: put one into chat_template.jinja beside it, or build prompts with encode`,
    { context: { file: path } },
  );
}
