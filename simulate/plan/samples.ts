/**
 * What rollouts consist of: how many tokens each turn has, and how long its call takes. Drawn as a cluster's
 * file says, or taken from the rollouts of a run, a whole rollout at a time, so that what belongs together
 * stays together. Keyed by the rollout, so every schedule gets the same ones.
 */
import { type Draws, draws, shuffled } from '../../base/index.ts';
import type { Cluster } from './cluster.ts';

/** A segment of the policy, and the call that it ends in. */
export interface Turn {
  readonly tokens: number;
  /** Null: it answers. */
  readonly call: { readonly seconds: number; readonly tokens: number } | null;
}

export interface Sample {
  readonly promptTokens: number;
  readonly turns: readonly Turn[];
}

/** The sample of a rollout, by its id. */
export type Samples = (rolloutId: string) => Sample;

/** As the file says. */
export function drawnSamples({ rollout, tools }: Cluster, seed: number): Samples {
  const { promptTokens, tokens, spread, calls, resultTokens } = rollout;
  const all = draws('plan', seed);
  return remembered((id) => {
    const draw = all.under(id);
    const count = poisson(draw, calls);
    const written = tokens * Math.exp(spread * normal(draw, 1));
    const each = Math.max(1, Math.round(written / (count + 1)));
    const turns = Array.from({ length: count + 1 }, (_, turn): Turn => {
      if (turn === count) return { tokens: each, call: null };
      const own = draw.under(turn);
      const slow = own.uniform(2) < tools.slowShare ? tools.slowTimes : 1;
      const seconds = slow * tools.seconds * Math.exp(tools.spread * normal(own, 0));
      return { tokens: each, call: { seconds, tokens: resultTokens } };
    });
    return { promptTokens, turns };
  });
}

/**
 * Each question is dealt a recorded group, in an order that is drawn, and none twice before all were dealt:
 * so few steps too have the mean of what was recorded. Rollouts keep their places in their group.
 */
export function recordedSamples(groups: readonly (readonly Sample[])[], seed: number): Samples {
  const packs = new Map<string, readonly (readonly Sample[])[]>();
  const pack = (...key: readonly (string | number)[]) => {
    const name = key.join('/');
    const known = packs.get(name) ?? shuffled(groups, 'plan', seed, ...key);
    packs.set(name, known);
    return known;
  };
  return (id) => {
    const [, question, round, index] = /(\d+)\/([^/]+)\/(\d+)$/.exec(id)!;
    const dealt = pack(round!, Math.floor(Number(question) / groups.length));
    const group = dealt[Number(question) % groups.length]!;
    return group[Number(index) % group.length]!;
  };
}

/** Called for every turn of a rollout; the newest are remembered. */
function remembered(samples: Samples): Samples {
  const known = new Map<string, Sample>();
  return (id) => {
    const found = known.get(id) ?? samples(id);
    known.set(id, found);
    for (const oldest of known.keys()) {
      if (known.size <= 65_536) break;
      known.delete(oldest);
    }
    return found;
  };
}

/** Standard normal, by two draws from `at` on. */
function normal(draw: Draws, at: number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - draw.uniform(at)));
  return radius * Math.cos(2 * Math.PI * draw.uniform(at + 1));
}

function poisson(draw: Draws, mean: number): number {
  const chance = draw.uniform(0);
  let term = Math.exp(-mean);
  let sum = term;
  let count = 0;
  while (sum < chance && count < 10 * mean + 10) {
    count += 1;
    term *= mean / count;
    sum += term;
  }
  return count;
}
