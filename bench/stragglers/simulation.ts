/**
 * What the simulated machines are: an engine with so many rows, tools whose latencies have a heavy tail, a
 * trainer whose step takes its time. Every number that is drawn depends on the seed and on what it is for,
 * never on timing, so the same rollouts come out of any schedule.
 */
import { draws } from '../../base/draws.ts';
import type { SkippingClock } from './skippingClock.ts';

export interface Simulation {
  readonly seed: number;
  /** Optimiser steps of the whole run, groups a step, rollouts a group. */
  readonly steps: number;
  readonly groups: number;
  readonly rollouts: number;
  /** Rows that the engine decodes at once; each makes a token in `tokenMs`, however many are busy. */
  readonly rows: number;
  readonly tokenMs: number;
  /** Tokens of a segment: at least, and less than. */
  readonly tokensMin: number;
  readonly tokensMax: number;
  /** Chance that a segment ends in a tool call, and most calls of a rollout. */
  readonly callChance: number;
  readonly callLimit: number;
  /** Median of the log-normal latency, its sigma, and which part of calls is how many times slower. */
  readonly toolMs: number;
  readonly toolSigma: number;
  readonly slowShare: number;
  readonly slowTimes: number;
  /** One optimiser step. */
  readonly stepMs: number;
  /** `live`: a request keeps the weights that it began with. `drain`: a swap waits until no row is busy. */
  readonly swap: 'live' | 'drain';
  readonly branching: 'none' | 'arpo';
}

/** Milliseconds of the call number `turn` of a rollout. */
export function latencyMs(simulation: Simulation, rolloutId: string, turn: number): number {
  const { seed, toolMs, toolSigma, slowShare, slowTimes } = simulation;
  const chance = draws('latency', seed, rolloutId, turn);
  const normal =
    Math.sqrt(-2 * Math.log(1 - chance.uniform(0))) * Math.cos(2 * Math.PI * chance.uniform(1));
  const slow = chance.uniform(2) < slowShare ? slowTimes : 1;
  return toolMs * Math.exp(toolSigma * normal) * slow;
}

export interface Rows {
  /**
   * Resolves when a row has made so many tokens. Served by priority, lowest first, then by arrival, as our
   * engine does.
   */
  decode(tokens: number, priority?: number): Promise<void>;
  /** Resolves when no row is busy; who comes meanwhile waits for `work` too. */
  drained(work: () => void): Promise<void>;
  /** Milliseconds of busy rows, all rows together. */
  readonly busyMs: number;
}

/** The engine's rows. */
export function rowsOf(count: number, tokenMs: number, clock: SkippingClock): Rows {
  const queue: { readonly priority: number; readonly begin: () => void }[] = [];
  let free = count;
  let busyMs = 0;
  let draining: (() => void) | null = null;

  const serve = (): void => {
    if (draining !== null) {
      if (free === count) draining();
      return;
    }
    while (free > 0 && queue.length > 0) {
      free -= 1;
      queue.shift()!.begin();
    }
  };

  return {
    get busyMs() {
      return busyMs;
    },
    async decode(tokens, priority = 0) {
      await new Promise<void>((begin) => {
        const before = queue.findLastIndex((waiting) => waiting.priority <= priority);
        queue.splice(before + 1, 0, { priority, begin });
        serve();
      });
      await clock.sleep(tokens * tokenMs);
      busyMs += tokens * tokenMs;
      free += 1;
      serve();
    },
    drained: (work) =>
      new Promise((resolve) => {
        draining = () => {
          draining = null;
          work();
          resolve();
          serve();
        };
        serve();
      }),
  };
}
