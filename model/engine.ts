/**
 * The two interfaces that the policy is used through: an engine that generates and one that trains.
 *
 * The embedded engine (onnxruntime in worker threads) implements them, and so do the remote ones. Token ids
 * go in and come out; nothing above this line tokenises for the engine.
 */
import type { DrawKey } from '../base/index.ts';
import type { AgreementRule, Precision } from './agreement.ts';
import type { Sampling } from './sampling.ts';

/** One response to generate: its context as token ids, where it ends, and how tokens are drawn. */
export interface GenerateRequest extends Sampling {
  /** The whole context: prompt and response so far. */
  readonly tokens: Int32Array;
  /** Limit of tokens to generate. */
  readonly maxTokens: number;
  /** Generation ends after the first of these tokens (which is kept in the output). */
  readonly stopTokens: readonly number[];
  /** Names the stream of draws; token t of the context takes draw t, so a draw is tied to its place. */
  readonly draws: readonly DrawKey[];
  /** Return the top log-probs (and the sampled one) of this many first tokens; 0 = none. */
  readonly topLogProbs: number;
  /** How many of each of these tokens (default 10). An engine with a lower limit returns what it has. */
  readonly logProbsPerToken?: number;
  /**
   * Generation ends with the token that completes one of these texts in what was generated; the token is kept
   * whole, even if it continues beyond the text. For tags of several tokens.
   */
  readonly stopTexts?: readonly string[];
  /**
   * Tokens of the context from this place on count as generated where stop texts are looked for; left out =
   * none of it.
   */
  readonly stopTextsFrom?: number;
  /** Return the exact entropy of every token's distribution. */
  readonly entropies?: boolean;
  /**
   * Requests that wait for a free row get one in the order of this number, lowest first, then of arrival; 0
   * by default. What is generated does not depend on it. A server without priorities goes by arrival.
   */
  readonly priority?: number;
}

/** Tokens [start, end) of a generation, all made by one policy version. */
export interface VersionSpan {
  readonly start: number;
  readonly end: number;
  readonly version: number;
}

/** The result of a request. `tokens` and `logProbs` (nats) are parallel, one entry per generated token. */
export interface Generation {
  readonly tokens: Int32Array;
  /** Log-prob of each token at temperature 1, over the whole vocabulary: as the trainer will see it. */
  readonly logProbs: Float32Array;
  /** `stop` = a stop token (the last of `tokens`) or a stop text ended it. */
  readonly finish: 'stop' | 'length';
  /** Per requested token: the returned log-probs (one more with a sampled one outside the top). */
  readonly topLogProbs: readonly (readonly number[])[];
  /** Policy version that made the tokens: the first one if there were several. */
  readonly version: number;
  /** Which version made which tokens, in order and without gaps; left out = `version` made them all. */
  readonly spans?: readonly VersionSpan[];
  /** The stop text that was completed, if any. */
  readonly stopText?: string;
  /**
   * If requested: entropy of each token's distribution at temperature 1, over the whole vocabulary (nats).
   */
  readonly entropies?: Float32Array;
}

/**
 * Where a version is, in words that only the kind of engine that wrote them reads: the path of a file or of a
 * Hugging Face folder, a path inside a training service. Nothing else interprets the uri (model/checkpoints).
 */
export interface Checkpoint {
  readonly version: number;
  /**
   * `scheme://…` for what a service keeps; without a scheme a path of this machine, absolute if an engine
   * is given it.
   */
  readonly uri: string;
  /** Refused if its digest differs; null = its kind has none, or it is not checked. */
  readonly digest: string | null;
}

/** Counts since the engine was made; throughput is `generatedTokens / busyMs`. */
export interface EngineStats {
  readonly generatedTokens: number;
  readonly prefillTokens: number;
  /** Milliseconds in which at least one row was active. */
  readonly busyMs: number;
}

/**
 * Generates with the current policy. Many requests may be open at once; `generate` rejects with the signal's
 * reason if it aborts.
 */
export interface PolicyEngine {
  /** Longest context (prompt and response) in tokens. */
  readonly contextMax: number;
  generate(request: GenerateRequest, signal?: AbortSignal): Promise<Generation>;
  /** Swaps weights; waits until no row is active. */
  load(weights: Checkpoint): Promise<void>;
  stats(): EngineStats;
  close(): Promise<void>;
  /**
   * For engines that may get one set of weights and answer with another: returns a trainer to use instead of
   * this one. It remembers the weights that it holds, and the engine's log-probs are compared with its own.
   */
  compareWith?(trainer: TrainerEngine): TrainerEngine;
  /** How close its log-probs must be to the trainer's; left out = not compared. */
  readonly agreement?: AgreementRule;
}

/** One sequence to train on. `mask[t] = 1` where token t is a target (never token 0). */
export interface TrainSequence {
  readonly tokens: Int32Array;
  readonly mask: Uint8Array;
  /** Per token; read only where mask is 1. */
  readonly advantages: Float32Array;
  /** Log-prob of token t when it was sampled; read only where mask is 1. */
  readonly oldLogProbs: Float32Array;
  /**
   * Log-prob of token t under the reference policy, for losses that ask for it; read only where mask is 1.
   */
  readonly refLogProbs?: Float32Array;
  /**
   * Factor of token t's policy term, 1 unless given: the importance weight of data that lags, which goes with
   * proximal log-probs in `oldLogProbs` (model/credit/lagCorrection.ts); read only where mask is 1.
   */
  readonly importance?: Float32Array;
  /**
   * Sequences with the same number are parts of one rollout (the rounds of a folded episode): a mean over
   * sequences counts them as one. Left out = the sequence is a rollout by itself.
   */
  readonly rollout?: number;
}

/**
 * What a step minimises, as plain data that any trainer understands: the name of a loss
 * (model/losses/losses.ts has this package's) and its settings, of which those left out are its defaults.
 */
export interface Loss {
  readonly name: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** URL of a module whose default export is the loss (`defineLoss`), for one that is not in this package. */
  readonly module?: string;
}

/** What one optimiser step trains on. `lr` is the learning rate of this step. */
export interface TrainBatch {
  readonly sequences: readonly TrainSequence[];
  readonly loss: Loss;
  readonly lr: number;
}

/** The result of a step: its loss, and the joint L2 norm of the gradients before clipping (NaN = unknown). */
export interface StepReport {
  readonly loss: number;
  readonly gradNorm: number;
  /** False when the gradient was not finite: weights and optimiser are unchanged. */
  readonly applied: boolean;
  /** Mean exact entropy of the policy over target tokens (nats); null = not available. */
  readonly entropy: number | null;
  /** What the loss itself reports, by the names of docs/metrics.md: `clip/fraction`, say. */
  readonly numbers: Readonly<Record<string, number>>;
  /** Tokens that went through the model, without padding. */
  readonly tokens: number;
  /** Sequences of which only log-probs were computed, because they have no gradient; left out = unknown. */
  readonly forwardOnly?: number;
  readonly ms: number;
  /** Longest stall of the caller's event loop during the step; left out = not measured. */
  readonly loopGapMs?: number;
}

/** One version of a trainer, in two parts that may be in different places. */
export interface TrainerCheckpoint {
  /** What engines generate with. */
  readonly weights: Checkpoint;
  /**
   * What training continues from, besides the weights or instead of them, depending on the kind of trainer;
   * null = the version was never trained, so the optimiser begins from zero.
   */
  readonly state: Checkpoint | null;
}

/** The result of `save`: keep it to `restore` the version later. */
export interface SavedCheckpoint extends TrainerCheckpoint {
  /** Of the weights. */
  readonly bytes: number;
}

/** Where a trainer may put a version. */
export interface SaveTarget {
  readonly version: number;
  /**
   * A folder of this machine for checkpoints, absolute; a trainer whose service keeps them need not use it.
   */
  readonly folder: string;
  /**
   * Whether to save the state too (default). A trainer whose repeated steps do not give the same bits saves
   * it in any case.
   */
  readonly state?: boolean;
  /**
   * Digests of a version that is saved again; if one would differ, `save` fails with code `DIGEST` and
   * replaces nothing.
   */
  readonly expected?: { readonly weights: string | null; readonly state: string | null };
}

/** A scorer's numbers for a sequence. */
export interface SequenceScores {
  /** Log-probs (nats). */
  readonly logProbs: Float32Array;
  /** Exact entropies of the distributions that the tokens were to be drawn from (nats); not all give them. */
  readonly entropies?: Float32Array;
}

/** Says how probable given tokens are. A frozen `TrainerEngine` is the reference of KL and DPO. */
export interface Scorer {
  /** Of each sequence, every token but the first at its own place; place 0 holds 0. */
  score(sequences: readonly Int32Array[]): Promise<readonly SequenceScores[]>;
}

/** Bytes of a saved version. */
export interface VersionSizes {
  readonly weights: number;
  readonly state: number;
}

/** `score` uses the current weights. */
export interface TrainerEngine extends Scorer {
  /** Disk space of a version here; left out = unknown, or none. */
  readonly sizes?: VersionSizes;
  /** Its precision; left out = float32. */
  readonly precision?: Precision;
  /**
   * Fails, before there is a batch, if this loss cannot be used for training; left out = every known loss
   * can.
   */
  check?(loss: Loss): Promise<void>;
  /** One optimiser step over the whole batch (micro-batches inside). */
  step(batch: TrainBatch): Promise<StepReport>;
  /**
   * Keep weights and state, whole or not at all. A version that is saved again (after a crash) replaces
   * the first. The state may still be written when it resolves, during the next step, up to the next `save`:
   * after a crash before that it is missing.
   */
  save(target: SaveTarget): Promise<SavedCheckpoint>;
  /**
   * Go back to a saved version: to `train` on from it, or to `score` with it, for which its state is not read
   * (a step would begin with an optimiser state of zero). Fails, and keeps what it has, if what is there is
   * not what was saved: with code `DIGEST`, or `CHECKPOINT` if it cannot be read at all.
   */
  restore(saved: TrainerCheckpoint, use: 'train' | 'score'): Promise<void>;
  close(): Promise<void>;
}

/** Text to token ids and back. */
export interface Tokenizer {
  readonly vocabSize: number;
  readonly endToken: number;
  /** All tokens that end a policy's text, if there are several; `endToken` is one of them. */
  readonly endTokens?: readonly number[];
  /**
   * The texts of its special tokens and tags, which text from outside must not contain. Left out = none are
   * known.
   */
  readonly markers?: readonly string[];
  /**
   * With `tags: false` no tag token is made: for text from outside, which must not pass for the policy's own.
   */
  encode(text: string, options?: { readonly tags: boolean }): Int32Array;
  decode(tokens: ArrayLike<number>): string;
  /**
   * The bytes that a token adds to a text, after the token `previous` if one is given; none for an id without
   * text. Left out = those of `decode([token])`, which are wrong if a character is cut over tokens.
   */
  bytes?(token: number, previous?: number): Uint8Array;
  /** The id of a token that represents exactly this text (a tag, for example); throws if there is none. */
  id(token: string): number;
}
