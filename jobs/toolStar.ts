/**
 * `toolStar`: Tool-Star (§4.1 to §4.4), from data synthesis to self-critic RL, as one stream.
 *
 *     questions ─► evolve (direct, with tools, hinted) ─► classify ─► demonstrations ─► fine-tuning (SFT)
 *                                                                          │
 *        ┌────────────────────────────── curriculum (the hard ones) ◄──────┘
 *        ▼
 *     questions ─► rollout ─► score (hierarchical) ─► batch ─► trainer (GRPO)
 *     questions ─► rollout ─► score ─► pairs (self-critic) ─► batch ─► trainer (DPO)
 *
 * What the policy gets right without tools is kept without tools, what it gets right with them is kept with them, and what
 * it gets wrong either way is what RL trains on, easy → hard. After each round of RL the policy's own responses make
 * preference pairs. Held-out questions are measured before the first stage and after each.
 */
import { pipe } from 'rxjs';
import { advantageEstimators } from '../model/credit/estimators.ts';
import { batch } from '../operators/batch.ts';
import { coldStartFindings } from '../operators/coldStart/findings.ts';
import { allHints, type ColdStartHints, coldStartHints } from '../operators/coldStart/hints.ts';
import { type ColdStartOptions, coldStartPool } from '../operators/coldStart/pool.ts';
import { curriculum } from '../operators/curriculum.ts';
import { demonstrations } from '../operators/demonstrations.ts';
import { resultBlock } from '../operators/dialect/resultBlock.ts';
import type { Complete } from '../operators/evolve/models.ts';
import { evolve } from '../operators/evolve.ts';
import { selfCritic } from '../operators/preferences/selfCritic.ts';
import { hierarchical } from '../operators/rewards/hierarchical.ts';
import { stepsOpen } from '../operators/schedule.ts';
import { type Flow, flow } from '../streams/flow.ts';
import { stage } from '../streams/stage.ts';
import { topics } from '../streams/topics.ts';
import { fineTuned, finetune } from './finetune.ts';
import { policyTraining } from './lossSettings.ts';
import { inPhase, type Method, type PolicyLoop, room } from './policyLoop.ts';
import { prefer, preferring } from './prefer.ts';
import type { ToolStarPlan } from './toolStarPlan.ts';
import type { ToolStarSettings } from './toolStarSettings.ts';

/** How it is asked to answer without tools and with them, and what counts as right: as the cold start has them. */
export interface ToolStarParts extends Pick<ColdStartOptions, 'ask' | 'isRight'> {
  /** The policy as a model of text, for the cold start. */
  readonly policy: Complete;
  /** Left out = those of the package. */
  readonly hints?: ColdStartHints;
}

export function toolStar(
  loop: PolicyLoop,
  plan: ToolStarPlan,
  settings: ToolStarSettings,
  { policy, hints = coldStartHints, ...how }: ToolStarParts,
): Flow {
  const { seed } = loop.context;
  const { gate, parts } = loop;
  const { coldStart, batchGroups: groups, lagMax } = settings;
  const { direct, tools, concurrency } = coldStart;
  const trying = evolve({
    ...{ models: policy, tools: parts.tools, gate, seed, resultBlock },
    grow: coldStartPool({ ...how, direct, tools, hints: coldStart.hints ? hints : null }),
    quotas: coldStart.callLimit,
    extraQuotas: coldStart.extraCalls,
    ...{ rounds: 0, concurrency },
  });
  const triesOpen = room(concurrency * (3 * direct + tools));
  const classifying = demonstrations({
    ...{ ...coldStart, tools: parts.tools, hints: allHints(hints), find: coldStartFindings },
    openMax: concurrency,
  });
  const hardOnes = curriculum({
    ...{ questions: plan.coldStart, phase: 'practice', stages: plan.rounds, seed },
    ...{ atLeast: settings.hardMin, atMost: settings.hardMax },
  });
  const openMax = stepsOpen(lagMax);
  const batching = batch({ groups, openMax });
  const { pairsMax } = settings.critic;
  const criticising = () =>
    prefer(loop, settings.critic, {
      criterion: () => selfCritic({ pairsMax }),
      ...{ questions: plan.critic, most: plan.critic },
    });

  return flow(
    loop.begun,
    stage('cold-start', topics.questions, topics.evolved, pipe(inPhase('evolve'), trying)),
    stage('classify', topics.evolved, topics.demonstrations, classifying, triesOpen),
    finetune(loop, plan.coldStart, settings.finetune),
    stage('curriculum', topics.demonstrations, topics.questions, hardOnes, room(plan.coldStart)),
    stage('practice', topics.questions, topics.rollouts, pipe(inPhase('practice'), loop.rollout)),
    stage('batch', topics.scored, topics.batches, batching, room(groups * openMax)),
    ...(plan.critic === 0 ? [] : [criticising()]),
  );
}

/** What Tool-Star makes of the loop. */
export function toolStarMethod(settings: ToolStarSettings): Method {
  const { rollouts, evaluationRollouts, batchGroups, lr, miniBatches } = settings;
  const method: Method = {
    samples: ({ phase }) => {
      if (phase === 'evaluate') return evaluationRollouts;
      return phase === 'prefer' ? settings.critic.samples : rollouts;
    },
    branching: () => null,
    reward: hierarchical(settings),
    advantage: advantageEstimators[settings.advantage].group,
    training: { lr, miniBatches, ...policyTraining(settings) },
    // Nothing is trained on as it was explored.
    ...{ batchGroups, window: 1 },
  };
  return preferring(fineTuned(method, settings.finetune), settings.critic);
}
