/**
 * An episode: a rollout of one continued thought (DeepAgent), as rewards and training see it.
 *
 * A fold replaces the context, so an episode is a list of rounds, each a sequence of its own: the context
 * that the round begins with, and the tokens that follow it. Memories are in the contexts and are never
 * trained on. An action is within one round: a fold's marker is the last thing of its round. Guarantees:
 * - `tokens`, `logProbs` and `mask` of a round are parallel; `mask` is 1 on the policy's own tokens, and on
 *   no other;
 * - every token of an action is one of these.
 */
import {
  type Action,
  type ActionKind,
  contextsOf,
  type EpisodeRecord,
  type Fold,
  type Rollout,
} from '../../topics/index.ts';

/** With the release's defects, or without. */
export type EpisodeMode = EpisodeRecord['mode'];

/** One context and what was written in it. */
export interface EpisodeRound {
  /** The context at the beginning of the round. */
  readonly prompt: Int32Array;
  /** What follows: the policy's tokens and what was inserted between them. */
  readonly tokens: Int32Array;
  /** Log-prob of each of `tokens` when it was sampled; 0 for those not written by the policy. */
  readonly logProbs: Float32Array;
  /** 1 where the policy wrote the token: the loss mask. */
  readonly mask: Uint8Array;
  /** The policy version that wrote its first token. */
  readonly version: number;
  /** Where the round begins in the rollout's `tokens`. */
  readonly start: number;
}

/** Where an action is: tokens `first` to `last`, both included, of a round's `tokens`. */
export interface ActionSpan {
  readonly kind: ActionKind;
  readonly round: number;
  readonly first: number;
  readonly last: number;
}

/** A tool call of the policy, in its order. */
export interface EpisodeCall {
  /** Which of the episode's `spans` it is. */
  readonly span: number;
  /** Null if the text is not a call. */
  readonly name: string | null;
  readonly arguments: Readonly<Record<string, unknown>> | null;
  /** As shown to the policy. */
  readonly response: string;
  /** Carried out without a failure. */
  readonly ok: boolean;
  /** The policy may call this function: it is one of the question's own tools, or was found by a search. */
  readonly offered: boolean;
  /** Why it was not carried out (arguments against the schema, asked before, a limit); empty if it was. */
  readonly fault: string;
}

/** See above. */
export interface Episode {
  readonly mode: EpisodeMode;
  readonly rounds: readonly EpisodeRound[];
  readonly spans: readonly ActionSpan[];
  readonly calls: readonly EpisodeCall[];
  /** One fewer than rounds. */
  readonly folds: readonly Fold[];
  /** Limits that ended or stopped something: `actions`, `context`, `folds`, `response`. */
  readonly limits: readonly string[];
}

/** The rollout as an episode; any other kind has one round and no actions. */
export function episodeOf(rollout: Rollout): Episode {
  const { mode = 'repaired', actions = [], folds = [], limits = [] } = rollout.episode ?? {};
  const rounds = roundsOf(rollout);
  const spans = actions.map((action) => spanOf(action, rounds));
  const calls = actions.flatMap((action, span) =>
    action.kind === 'call' ? [callOf(action, span)] : [],
  );
  return { mode, rounds, spans, calls, folds, limits };
}

function roundsOf(rollout: Rollout): EpisodeRound[] {
  const { tokens, logProbs, segments, version } = rollout;
  const mask = new Uint8Array(tokens.length);
  for (const { kind, start, end } of segments) if (kind === 'policy') mask.fill(1, start, end);
  const begins = contextsOf(rollout);
  return begins.map(({ at, prompt: context }, i) => {
    const end = begins[i + 1]?.at ?? tokens.length;
    const own = segments.find(({ kind, start }) => kind === 'policy' && start >= at && start < end);
    return {
      prompt: context,
      tokens: tokens.slice(at, end),
      logProbs: logProbs.slice(at, end),
      mask: mask.slice(at, end),
      version: own?.version ?? version,
      start: at,
    };
  });
}

function spanOf({ kind, start, end }: Action, rounds: readonly EpisodeRound[]): ActionSpan {
  const round = rounds.findLastIndex((one) => one.start <= start);
  const from = rounds[round]?.start ?? 0;
  return { kind, round, first: start - from, last: end - 1 - from };
}

function callOf({ name, input, response, ok, offered, fault }: Action, span: number): EpisodeCall {
  const given = name === null ? null : (JSON.parse(input) as Readonly<Record<string, unknown>>);
  return { span, name, arguments: given, response, ok, offered, fault };
}
