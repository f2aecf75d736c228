/**
 * A dialect: how a policy writes tool calls, thinking and answers. Everything that depends on it goes through
 * this interface, so that rollouts, rewards, demonstrations and training are the same for all of them.
 *
 * Two come with the package: the papers' tags (tagsDialect.ts) and the model's own function calling through
 * its chat template (native/nativeDialect.ts). docs/dialects.md shows a third.
 *
 * Each guarantees:
 * - the policy's own tokens are never tokenised a second time: a rollout's context grows by what the policy
 *   sampled and by `results`, nothing else;
 * - text from outside (a question, a tool's output) opens and closes nothing: it makes no special token and
 *   no tag;
 * - rewards, metrics, judges, the flywheel and views read a *trajectory*: the papers' tag form, which `read`
 *   gives.
 */
import type { Tokenizer, TrainSequence } from '../../model/index.ts';
import type { Variant } from '../text/variant.ts';
import type { Tool } from '../tools/tool.ts';
import type { CallFaults } from './callFaults.ts';
import type { ResultTokens } from './encodeExample.ts';
import type { FormatFault } from './format.ts';

/**
 * A stretch of a response as text, and its author. What the policy wrote without a result in between is one
 * part.
 */
export interface Part {
  readonly author: 'policy' | 'tool';
  /** Decoded from its tokens; without the policy's end tokens. */
  readonly text: string;
  /** The policy stopped there of its own accord, at a stop token; left out = it was cut off, or went on. */
  readonly ended?: boolean;
}

/** A call as the policy wrote it. */
export interface DialectCall {
  /** One of the dialect's tools; '' if the call names none. */
  readonly tool: string;
  /** The tool's input; '' = none, which ends a rollout. */
  readonly input: string;
  /** Why the call cannot be made, for the policy to read instead of a result; left out = it can. */
  readonly fault?: string;
}

/** What ended a generation: its last token, and the stop text that it completed, if any. */
export interface Stop {
  readonly token: number;
  readonly text: string | null;
}

/** What a policy's turn means: calls to make, in order; the end with an answer; or the end without one. */
export type Turn = { readonly calls: readonly DialectCall[] } | 'answer' | 'stop';

/** A tool as described to a policy. */
export type Declared = Pick<Tool, 'name' | 'about' | 'parameters'>;

/** What a prompt contains besides the question. */
export interface AskedBy {
  /** The system prompt; '' = none, null = it is not a single text, or unknown. */
  readonly system: string | null;
  /** null = unknown. */
  readonly tools: readonly Declared[] | null;
  /** What happens to a call that cannot be made, if the dialect has a choice. */
  readonly callFaults?: CallFaults;
  /** System prompts for sets of questions that have their own, by the questions' `source`. */
  readonly sources?: Readonly<Record<string, string>>;
}

/** How a policy writes. Pure: the same arguments give the same values. */
export interface Dialect {
  /** `tags`, `native`, or a name of your own. */
  readonly name: string;
  readonly tokenizer: Tokenizer;
  /** What a user who starts a run should know, one line each; left out = nothing. */
  readonly notes?: readonly string[];
  /**
   * What a run records of its prompt, so that everything started from the run uses the same; left out = the
   * result of `prompt`.
   */
  readonly asked?: AskedBy;
  /** What can be called, by the tags of trajectories, in order. */
  readonly tools: readonly string[];
  /** A generation ends after one of these tokens. */
  readonly stopTokens: readonly number[];
  /**
   * Or with the token that completes one of these texts; that token is kept whole, even if text follows in
   * it.
   */
  readonly stopTexts: readonly string[];
  /** A question as the tokens from which the policy continues. */
  prompt(question: string): Int32Array;
  /**
   * What the policy's last turn means. `turns` = what it wrote between one result and the next; the last has
   * just ended.
   */
  turn(turns: readonly string[], stop: Stop): Turn;
  /** The tokens of the results of a turn's calls, one output per call, up to where the policy continues. */
  results(outputs: readonly string[]): Int32Array;
  /**
   * A response as a trajectory: the policy's words as it wrote them, results such that they cannot pass for
   * its own.
   */
  read(parts: readonly Part[]): string;
  /** The first fault of a trajectory; null = it is well-formed. */
  formatFault(trajectory: string, variant: Variant): FormatFault | null;
  /** A trajectory so far as response tokens from which the policy can continue. */
  continuation(trajectory: string): Int32Array;
  /**
   * The policy's continuation in the form of trajectories. `before` = what its turn already contained. Left
   * out = as it wrote it.
   */
  piece?(before: string, own: string, ended: boolean): string;
  /**
   * A whole trajectory as a training sequence: what the policy wrote is the target, results as `results`
   * says.
   */
  encodeExample(question: string, trajectory: string, results: ResultTokens): TrainSequence;
}

/** The tokens that end a policy's text; the first is the tokenizer's own. */
export function endTokens({ endToken, endTokens = [] }: Tokenizer): readonly number[] {
  return [...new Set([endToken, ...endTokens])];
}
