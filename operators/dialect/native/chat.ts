/**
 * A chat template in the form that the native dialect needs; `nativeChat` makes one from a policy's
 * tokenizer.
 */

import type { ChatSegment } from '../../../model/chat/index.ts';
import type { Tokenizer } from '../../../model/index.ts';

export type { ChatSegment };

/** One turn of the policy, and the results of its calls. */
export interface ChatTurn {
  /** The content of its thinking block; null = it has none. */
  readonly thinking: string | null;
  readonly content: string;
  readonly calls: readonly { readonly tool: string; readonly input: string }[];
  /** One per call; empty for calls that were not answered. */
  readonly outputs: readonly string[];
}

/** Renders conversations, and says whose tokens are whose. */
export interface NativeChat {
  /** Its `endTokens` are all those that end a policy's turn. */
  readonly tokenizer: Tokenizer;
  /** What the template writes before the policy continues: `<|im_start|>assistant\n`. */
  readonly opening: string;
  /**
   * How a conversation that grows call by call differs from the template's rendering of the whole, in words.
   */
  readonly notes: readonly string[];
  /** System prompt, tools and question. The question is text from outside. */
  prompt(question: string): Int32Array;
  /**
   * What follows a turn of calls: its results, up to where the policy continues. Outputs are text from
   * outside.
   */
  results(outputs: readonly string[]): Int32Array;
  /**
   * The whole conversation as the template writes it, in order. The policy's segments end with the token that
   * ends its turn; `open` = the policy continues after the last result.
   */
  conversation(question: string, turns: readonly ChatTurn[], open: boolean): readonly ChatSegment[];
}
