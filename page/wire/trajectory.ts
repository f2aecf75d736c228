/** One rollout as text, and its tokens as bytes: `/r/RUN/t/ROLLOUT`. */
import type { Cut, OfRun } from './common.ts';
import type { Group, QuestionFacts, RolloutRow } from './question.ts';

export interface TrajectoryData extends OfRun {
  readonly rollout: RolloutRow;
  readonly question: QuestionFacts;
  readonly group: Group;
  /** Refs of the neighbours in the group, for `n` and `p`; null at the ends. */
  readonly before: string | null;
  readonly after: string | null;
  /** The first rollouts of the neighbouring groups in `scored`, for `N` and `P`. */
  readonly groupBefore: string | null;
  readonly groupAfter: string | null;
  readonly prompt: { readonly tokens: number; readonly text: string | Cut | null };
  readonly turns: readonly Turn[];
  readonly facts: TrajectoryFacts;
  /**
   * Null if the run's tokenizer is not here: then one turn has the whole text, and there are no per-token
   * values.
   */
  readonly tokens: { readonly href: string; readonly count: number } | null;
  /** Why `tokens` is null, if it is. */
  readonly tokensWhy: string;
  /** The size of the raw record in the topic. */
  readonly record: string;
  /** Left out = no agent made it. */
  readonly session?: SessionView;
}

/** An agent's session. */
export interface SessionView {
  /** The first of its calls, in the order in which they were made. */
  readonly calls: readonly SessionCallView[];
  readonly of: number;
  /** The first 200 calls of MCP tools that the agent made through the gateway. */
  readonly tools: readonly SessionToolView[];
  /** From its beginning to its end, and the part spent in model calls. */
  readonly ms: number;
  readonly modelMs: number;
}

export interface SessionCallView {
  readonly call: number;
  /** The call whose context it goes on from; -1 = none. */
  readonly parent: number;
  /** Lanes are side by side: a fork has its own. */
  readonly lane: number;
  readonly join: 'first' | 'continued' | 'merged' | 'separate';
  /** What the agent changed in earlier messages; empty = nothing. */
  readonly difference: string;
  readonly tokens: number;
  readonly ms: number;
  /** Its turn; null = unknown. */
  readonly turn: number | null;
}

export interface SessionToolView {
  /** The place of its record in `mcp-calls`. */
  readonly ref: string;
  /** The model call that it came after; -1 = before all of them. */
  readonly after: number;
  /** That call's turn; null = unknown. */
  readonly turn: number | null;
  /** Server and tool. */
  readonly tool: string;
  readonly input: string | Cut;
  readonly output: string | Cut;
  readonly ok: boolean;
  /** Whether it was answered from the record of the session that this one forked from. */
  readonly fromRecord: boolean;
  /** How long it took when it ran. */
  readonly ms: number;
}

export interface Turn {
  readonly index: number;
  readonly kind: 'policy' | 'tool';
  /** Response tokens [start, end). */
  readonly start: number;
  readonly end: number;
  readonly text: string | Cut;
  readonly version: number;
  /** Step entropy of the turn if the job measures it, in nats; null elsewhere. */
  readonly entropy: number | null;
  /** Mean log-prob per token; null for tool turns. */
  readonly logProb: number | null;
  /** Tag of the tool that was called, or that wrote it. */
  readonly tool: string | null;
  /** In a tool turn: the calls that it answers. */
  readonly calls: readonly Call[];
}

export interface Call {
  readonly ref: string;
  readonly turn: number;
  readonly tool: string;
  readonly input: string | Cut;
  readonly output: string | Cut;
  readonly ok: boolean;
  readonly cached: boolean;
  readonly attempts: number;
  readonly ms: number;
}

export interface TrajectoryFacts {
  readonly seed: number;
  readonly startedMs: number;
  readonly endedMs: number;
  /** Policy versions by token: [start, end) with its version. */
  readonly spans: readonly {
    readonly start: number;
    readonly end: number;
    readonly version: number;
  }[];
  /** The 20 tokens that were least likely, least likely first; empty without a tokenizer. */
  readonly surprises: readonly {
    readonly token: number;
    readonly text: string;
    readonly logProb: number;
  }[];
}

/**
 * `tokens.bin`, little-endian:
 *
 *   0      4 bytes   `MLTK`
 *   4      u32       bytes of the header
 *   8      header    JSON (`TokensHeader`), padded with spaces so that what follows begins at a multiple of 4
 *   …      text      UTF-8 of the response, `textBytes` long, padded with zeros to a multiple of 4
 *   …      u16[n]    UTF-16 units of the text that each token adds (0: the first part of a character; its last part has all)
 *   …      u8[n]     entropy, u8[n] log-prob: value = from + byte × (to − from) / 254; 255 = unknown
 *   …      u8[n]     index into `versions`
 *   …      u8[n]     author: 0 = policy, 1 = tool
 */
export interface TokensHeader {
  readonly wire: number;
  /** n */
  readonly tokens: number;
  readonly textBytes: number;
  /**
   * Entropy is known per turn, if the job measures it, and repeated at each of its tokens; null = unknown.
   */
  readonly entropy: { readonly from: number; readonly to: number } | null;
  readonly logProb: { readonly from: number; readonly to: number } | null;
  readonly versions: readonly number[];
}

export const TOKENS_MAGIC = 'MLTK';
