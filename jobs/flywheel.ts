/**
 * `flywheel`: the self-evolving data flywheel (ET-Agent §4), as a stream.
 *
 *     questions ─► evolve (rollout, judge, reflect or enhance; R rounds) ─► evolved ─► filter ─► demonstrations
 *         ▲ gate
 *
 * Each question gets a pool of trajectories: what the policy does by itself, and what becomes of that when wrong ones are
 * reflected upon and right ones enhanced. What is right, well-formed and worked goes on to fine-tuning (`finetune`).
 */
import { pipe } from 'rxjs';
import { demonstrations } from '../operators/demonstrations.ts';
import { resultBlock } from '../operators/dialect/resultBlock.ts';
import type { EvolveAction } from '../operators/evolve/action.ts';
import { defaultActions } from '../operators/evolve/actions.ts';
import type { Hints } from '../operators/evolve/hints.ts';
import type { Complete, Models } from '../operators/evolve/models.ts';
import { loadPrompts } from '../operators/evolve/prompts.ts';
import { evolve } from '../operators/evolve.ts';
import { type Flow, flow } from '../streams/flow.ts';
import { stage } from '../streams/stage.ts';
import { topics } from '../streams/topics.ts';
import type { FlywheelSettings } from './flywheelSettings.ts';
import { inPhase, type PolicyLoop, room } from './policyLoop.ts';

export interface FlywheelParts {
  /** Who rolls out (M1), who analyses and rewrites steps (M2), who locates, refines and judges (M3). */
  readonly models: Complete | Models;
  /** What is tried on a parent; left out = the six of the method. */
  readonly actions?: readonly EvolveAction[];
  readonly hints?: Hints;
}

export function flywheel(loop: PolicyLoop, settings: FlywheelSettings, parts: FlywheelParts): Flow {
  const { seed } = loop.context;
  const { gate } = loop;
  const { tools } = loop.parts;
  const { concurrency, callLimit, extraCalls, promptsFolder } = settings;
  const { actions = defaultActions } = parts;
  const evolving = evolve({
    ...{ ...settings, ...parts, tools, gate, seed, resultBlock },
    quotas: callLimit,
    extraQuotas: extraCalls,
    prompts: loadPrompts(promptsFolder === '' ? undefined : promptsFolder),
  });
  const filtering = demonstrations({ ...settings, ...parts, tools, openMax: concurrency });
  const open = room(concurrency * poolMax(settings, actions));

  return flow(
    loop.begun,
    stage('evolve', topics.questions, topics.evolved, pipe(inPhase('evolve'), evolving)),
    stage('filter', topics.evolved, topics.demonstrations, filtering, open),
  );
}

/** Most trajectories of a question: those it begins with, and each round all that its parents may become. */
function poolMax(
  { initial, rounds, parents }: FlywheelSettings,
  actions: readonly EvolveAction[],
): number {
  const kidsOf = (on: EvolveAction['on']) => actions.filter((action) => action.on === on).length;
  return initial + rounds * parents * Math.max(kidsOf('correct'), kidsOf('incorrect'));
}
