/**
 * `flywheel`: the self-evolving data flywheel (ET-Agent §4), as a stream.
 *
 *     questions ─► evolve (rollout, judge, reflect or enhance; R rounds) ─► evolved ─► filter ─► demonstrations
 *         ▲ gate
 *
 * Each question gets a pool of trajectories: what the policy does by itself, then the wrong ones reflected
 * upon and the right ones enhanced. Those that are right and well-formed and whose calls worked go on to
 * fine-tuning (`finetune`).
 */
import { pipe } from 'rxjs';
import { z } from 'zod';
import { resultBlock } from '../operators/dialect/index.ts';
import {
  type Complete,
  defaultActions,
  type EvolveAction,
  type Hints,
  loadPrompts,
  type Models,
} from '../operators/evolve/index.ts';
import { demonstrations, evolve } from '../operators/index.ts';
import { type Flow, flow, stage } from '../streams/index.ts';
import { topics } from '../topics/index.ts';
import type { Method } from './method.ts';
import { inflightFor, inPhase, type PolicyLoop, type PolicyParts } from './policyLoop.ts';
import { positiveInt } from './policySettings.ts';

/** What the flywheel runs on besides the loop's own parts. */
export interface FlywheelParts {
  /** Rolls out (M1); analyses and rewrites steps (M2); locates, refines and judges (M3). */
  readonly models: (parts: PolicyParts) => Complete | Models;
  /** Actions to try on a parent; left out = the method's six. */
  readonly actions?: readonly EvolveAction[];
  readonly hints?: Hints;
}

const orNone = z.number().int().nonnegative();

/** The settings of `flywheel` as a zod schema (ET-Agent §4); calls and rounds are counts. */
export const flywheelSettings = z.object({
  questions: orNone.default(256).describe('questions to evolve; 0 = no flywheel'),
  rounds: orNone.default(3).describe('rounds of evolution (R); 0 = only the first trajectories'),
  initial: positiveInt.default(1).describe('first trajectories per question'),
  parents: positiveInt.default(1).describe('maximum trajectories evolved per round, best first'),
  callLimit: positiveInt.default(6).describe('maximum calls of each tool in a fresh trajectory'),
  extraCalls: orNone.default(4).describe('extra calls of each tool when a trajectory is continued'),
  perQuestion: positiveInt.default(1).describe('maximum demonstrations kept per question'),
  prefer: z
    .enum(['fewestCalls', 'latestRound', 'earliestRound', 'shortest'])
    .default('fewestCalls')
    .describe('which demonstrations to keep if there are more'),
  callsMax: orNone.default(8).describe('maximum tool calls per demonstration'),
  promptsFolder: z
    .string()
    .default('')
    .describe('folder of prompts to use instead of the package’s; empty = the package’s'),
  mode: z
    .preprocess(
      (given) => (given === 'clean' ? 'repaired' : given), // the name in older versions
      z.enum(['repaired', 'reference']),
    )
    .default('repaired')
    .describe('reference keeps the defects of the published flywheel'),
  concurrency: positiveInt.default(24).describe('questions evolved concurrently'),
});

/** The settings of `flywheel`, with all defaults filled in. */
export type FlywheelSettings = z.infer<typeof flywheelSettings>;

/** Evolves the first questions to train on; `finetune` after it trains on the results. */
export function flywheel(settings: FlywheelSettings, parts: FlywheelParts): Method {
  return ({ train }) => ({
    rounds: [
      {
        name: 'fine-tuning',
        phase: 'evolve',
        count: Math.min(settings.questions, train),
        skip: 0,
      },
    ],
    loop: {},
    wire: (loop) => wire(loop, settings, parts),
  });
}

function wire(loop: PolicyLoop, settings: FlywheelSettings, parts: FlywheelParts): Flow {
  const { gate, context } = loop;
  const { concurrency, callLimit, extraCalls, promptsFolder } = settings;
  const { tools, dialect } = loop.parts;
  const { actions = defaultActions } = parts;
  const evolving = evolve({
    ...settings,
    ...parts,
    models: parts.models(loop.parts),
    tools,
    gate,
    seed: context.seed,
    recorded: context.replay?.unanswered,
    resultBlock,
    markers: loop.parts.dialect.tokenizer.markers ?? [],
    quotas: callLimit,
    extraQuotas: extraCalls,
    prompts: loadPrompts(promptsFolder === '' ? undefined : promptsFolder),
  });
  const filtering = demonstrations({
    ...settings,
    ...parts,
    tools,
    formatFault: dialect.formatFault,
    openMax: concurrency,
  });
  const open = inflightFor(concurrency * poolMax(settings, actions));

  return flow(
    loop.begun,
    stage('evolve', topics.questions, topics.evolved, pipe(inPhase('evolve'), evolving)),
    stage('filter', topics.evolved, topics.demonstrations, filtering, open),
  );
}

/** Limit of trajectories per question: the first ones, and in each round all that its parents may become. */
function poolMax(
  { initial, rounds, parents }: FlywheelSettings,
  actions: readonly EvolveAction[],
): number {
  const childrenOf = (on: EvolveAction['on']) =>
    actions.filter((action) => action.on === on).length;
  return initial + rounds * parents * Math.max(childrenOf('correct'), childrenOf('incorrect'));
}
