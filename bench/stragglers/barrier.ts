/**
 * The same work through the reference's round barrier, on the same clock and the same rows.
 *
 * A step as ARPO's and ET-Agent's released trainers make it: rounds over the whole batch, in each of which
 * every active rollout gets one segment, all of them are waited for, then all tool calls run at once and all
 * are waited for; when no rollout is active the optimiser makes its step, and the next batch begins. What is
 * generated and how long each call takes is read from the records of the stream, so both do the same segments
 * and the same calls. A rollout that joined late (a refill) is let in at the first round, which favours the
 * barrier.
 */
import type { Batch, Rollout, Scored, ToolCall } from '../../topics/index.ts';
import { rowsOf, type Simulation } from './simulation.ts';
import { skippingClock } from './skippingClock.ts';

/** One segment of a rollout and the call that it ends in. */
interface Turn {
  readonly tokens: number;
  /** Null: no call. */
  readonly callMs: number | null;
}

export interface Work {
  readonly rollouts: readonly Rollout[];
  readonly toolCalls: readonly ToolCall[];
  readonly scored: readonly Scored[];
  readonly batches: readonly Batch[];
}

/** Turns of every rollout of every step, by round; a round that a clone did not make itself is empty. */
export function turnsOf(work: Work): readonly (readonly (readonly (Turn | null)[])[])[] {
  const calls = new Map(work.toolCalls.map((call) => [`${call.rolloutId}#${call.turn}`, call.ms]));
  return [...work.batches]
    .sort((a, b) => a.step - b.step)
    .map(({ groups }) =>
      groups
        .flatMap(({ scored }) => work.scored[scored.offset]!.rollouts)
        .map(({ offset }) => turnsOfRollout(work.rollouts[offset]!, calls)),
    );
}

function turnsOfRollout(
  { id, segments, parent }: Rollout,
  calls: ReadonlyMap<string, number>,
): readonly (Turn | null)[] {
  const own = parent?.offset ?? 0;
  return segments
    .filter(({ kind }) => kind === 'policy')
    .map(({ start, end }, turn) =>
      start < own ? null : { tokens: end - start, callMs: calls.get(`${id}#${turn}`) ?? null },
    );
}

/** Milliseconds of all steps, `share` times as fast a machine in both phases. */
export async function throughBarrier(
  work: Work,
  simulation: Simulation,
  { rows: count, stepMs }: Pick<Simulation, 'rows' | 'stepMs'> = simulation,
): Promise<number> {
  const clock = skippingClock();
  const rows = rowsOf(count, simulation.tokenMs, clock);
  const startMs = clock.now();
  for (const rollouts of turnsOf(work)) {
    const rounds = Math.max(...rollouts.map((turns) => turns.length));
    for (let round = 0; round < rounds; round++) {
      const turns = rollouts.flatMap((rollout) => rollout[round] ?? []);
      await Promise.all(turns.map(({ tokens }) => rows.decode(tokens)));
      await Promise.all(
        turns.flatMap(({ callMs }) => (callMs === null ? [] : clock.sleep(callMs))),
      );
    }
    await clock.sleep(stepMs);
  }
  const ms = clock.now() - startMs;
  clock.close();
  return ms;
}
