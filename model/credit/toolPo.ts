/**
 * ToolPO (DeepAgent §3.4): two advantages per rollout. That of its success goes to every token that the
 * policy wrote, that of its actions to the tokens of actions alone:
 *
 *     A_success = R_success - mean of the group    A_action = R_action - mean of the group
 *     A(token)  = A_success + M(token) · A_action
 *
 * Neither is divided by a deviation. M is 1 on the tokens of tool calls and of folds, and of searches for
 * tools if requested.
 */
import { centred, type ScoreAdvantage } from './group.ts';

/**
 * A rollout against the mean of its group. A group of one, and one whose scores are all equal, gets exactly
 * 0.
 */
export function toolPo(): ScoreAdvantage {
  return centred;
}

/** Tokens [start, end) of a response that make up an action. */
export interface ActionTokens {
  readonly kind: 'call' | 'search' | 'fold';
  readonly start: number;
  readonly end: number;
}

/** Which actions M counts. */
export interface ActionMaskOptions {
  /** Whether the tokens of searches for tools count too (default: no; the method does not name them). */
  readonly search?: boolean;
}

/** M: 1 on the tokens of actions among `length` response tokens. Throws if a span is not within them. */
export function actionMask(
  length: number,
  actions: readonly ActionTokens[],
  { search = false }: ActionMaskOptions = {},
): Uint8Array {
  const mask = new Uint8Array(length);
  for (const { kind, start, end } of actions) {
    if (!(start >= 0 && start <= end && end <= length))
      throw new Error(
        `an action of tokens ${start} to ${end} is outside the ${length} tokens of its rollout`,
      );
    if (kind !== 'search' || search) mask.fill(1, start, end);
  }
  return mask;
}

/** Advantages of a rollout's tokens with `advantage` added where the mask is 1. */
export function withActions(
  perToken: ArrayLike<number>,
  advantage: number,
  mask: Uint8Array,
): Float64Array {
  return Float64Array.from(perToken, (value, token) => value + mask[token]! * advantage);
}
