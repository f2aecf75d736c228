/**
 * What DeepAgent's deterministic metrics need from an episode: its tool calls and their outcomes, in order.
 */
import type { Rollout } from '../../../topics/index.ts';
import { episodeOf } from '../../deepAgent/episode.ts';

/** A tool call that could be read. */
export interface RecordedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** As shown to the policy. */
  readonly response: string;
}

/** Success, and how much of the path was completed: both 0 to 1. */
export interface PathScore {
  readonly success: number;
  readonly path: number;
}

/** The calls of a rollout; anything that is not a call is left out. */
export function recordedCalls(rollout: Rollout): RecordedCall[] {
  return episodeOf(rollout).calls.flatMap(({ name, arguments: given, response }) =>
    name === null || given === null ? [] : [{ name, arguments: given, response }],
  );
}

/** Share of `all` that `fits`; 1 if `all` is empty. */
export function shareOf<T>(all: readonly T[], fits: (item: T) => boolean): number {
  return all.length === 0 ? 1 : all.filter(fits).length / all.length;
}
