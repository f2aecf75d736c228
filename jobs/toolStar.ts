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
 * What the policy gets right without tools is kept without tools, what it gets right with them is kept with
 * them, and what it gets wrong either way is what RL trains on, easy → hard. After each round of RL the
 * policy's own responses make preference pairs. Held-out questions are measured before the first round and
 * after each.
 */
import { pipe } from 'rxjs';
import { z } from 'zod';
import { advantageEstimators } from '../model/credit/index.ts';
import {
  allHints,
  type ColdStartHints,
  type ColdStartOptions,
  coldStartFindings,
  coldStartHints,
  coldStartPool,
} from '../operators/coldStart/index.ts';
import { resultBlock } from '../operators/dialect/index.ts';
import type { Complete } from '../operators/evolve/index.ts';
import { batch, curriculum, demonstrations, evolve } from '../operators/index.ts';
import { selfCritic } from '../operators/preferences/index.ts';
import { hierarchical, toolStarOutcome, type VerifyAnswer } from '../operators/rewards/index.ts';
import { type Flow, flow, stage } from '../streams/index.ts';
import { stepsOpen, topics } from '../topics/index.ts';
import { finetune, finetuneSettings } from './finetune.ts';
import { lossSettings, policyTraining } from './lossSettings.ts';
import { type LoopShare, type Method, sharesOf } from './method.ts';
import type { RoundPlan } from './plan.ts';
import { inflightFor, inPhase, type PolicyLoop, type PolicyParts } from './policyLoop.ts';
import { policySettings, positiveInt } from './policySettings.ts';
import { prefer, preferSettings } from './prefer.ts';

const orNone = z.number().int().nonnegative();

/** The settings of Tool-Star's cold start as a zod schema (§4.1). */
const coldStartSettings = z.object({
  questions: positiveInt.default(256).describe('questions for the cold start'),
  direct: positiveInt.default(1).describe('answers without tools per question'),
  tools: positiveInt.default(3).describe('tool-integrated answers per question'),
  hints: z.boolean().default(true).describe('continue direct answers with tools after a hint'),
  callLimit: positiveInt.default(4).describe('maximum calls of each tool per trajectory'),
  extraCalls: orNone.default(2).describe('extra calls of each tool after a hint'),
  callsMax: positiveInt.default(5).describe('maximum tool calls per demonstration (β)'),
  perQuestion: positiveInt.default(1).describe('maximum demonstrations kept per question'),
  prefer: z
    .enum(['fewestCalls', 'shortest'])
    .default('fewestCalls')
    .describe('which demonstrations to keep if there are more'),
  concurrency: positiveInt.default(24).describe('questions tried concurrently'),
});

/** The settings of `toolStar` as a zod schema (Tool-Star §4.1 to §4.4). */
export const toolStarSettings = policySettings.extend({
  ...lossSettings.shape,
  callLimit: positiveInt.default(3).describe('maximum tool calls per rollout'),
  evaluationRollouts: positiveInt.default(2).describe('rollouts per held-out question'),
  coldStart: coldStartSettings.prefault({}),
  finetune: finetuneSettings.prefault({}),
  loops: positiveInt.default(1).describe('rounds of RL, each followed by a self-critic'),
  hardMin: positiveInt
    .default(96)
    .describe('minimum questions per round of RL, filled up with the hardest of the others'),
  hardMax: positiveInt.default(192).describe('maximum questions per round of RL'),
  rollouts: positiveInt.default(8).describe('rollouts per question (n)'),
  batchGroups: positiveInt.default(12).describe('groups per optimiser step (B)'),
  miniBatches: positiveInt.default(2).describe('optimiser steps per batch'),
  lr: z.number().positive().default(6e-5).describe('learning rate of RL'),
  reward: z
    .enum(['hierarchical', 'tool-star'])
    .default('hierarchical')
    .describe('reward of a rollout: as in the paper, or as the release trains with'),
  bonus: z
    .number()
    .nonnegative()
    .default(0.1)
    .describe('reward for a right answer that used both search and Python (r_M), if hierarchical'),
  knowledge: z
    .enum(['f1', 'match'])
    .default('f1')
    .describe('how answers to knowledge questions are scored, if hierarchical'),
  criticQuestions: orNone
    .default(128)
    .describe('questions for the self-critic after each round of RL; 0 = no self-critic'),
  critic: preferSettings.prefault({ samples: 8 }),
});

/** The settings of `toolStar`, with all defaults filled in. */
export type ToolStarSettings = z.infer<typeof toolStarSettings>;

/**
 * How to ask the policy to answer without tools and with them, and what counts as right: as in the cold
 * start.
 */
export interface ToolStarParts extends Pick<ColdStartOptions, 'ask' | 'isRight'> {
  /** The policy as a text model, for the cold start. */
  readonly policy: (parts: PolicyParts) => Complete;
  /** Left out = the package's. */
  readonly hints?: ColdStartHints;
}

/**
 * Tool-Star (§4.1 to §4.4): the cold start with fine-tuning, then `loops` rounds of RL, each with its
 * self-critic.
 */
export function toolStar(settings: ToolStarSettings, parts: ToolStarParts): Method {
  return ({ train, seed, verify }) => {
    const plan = sizesOf(settings, train);
    const before = [coldStartRound(plan)];
    const loops = Array.from({ length: settings.loops }, (_, loop) => roundsOf(loop, plan.critic));
    const rounds = [...before, ...loops.flat()];
    const rl = rounds.flatMap(({ name }, i) => (name.startsWith(ROUND) ? [i + 1] : []));
    const tuning = finetune(settings.finetune)({ train, seed, before });
    const { pairsMax } = settings.critic;
    const criticising = prefer(settings.critic, {
      criterion: () => selfCritic({ pairsMax }),
      questions: plan.critic,
      most: plan.critic,
    })({ train, seed, before });
    return {
      rounds,
      loop: sharesOf([loopOf(settings, verify), tuning.loop, criticising.loop]),
      wire: (loop) =>
        flow(
          loop.begun,
          synthesis(loop, settings, parts),
          tuning.wire(loop),
          reinforcement(loop, settings, plan.coldStart, rl),
          ...(plan.critic === 0 ? [] : [criticising.wire(loop)]),
        ),
    };
  };
}

/** The cold start (§4.1): questions ─► evolve (direct, with tools, hinted) ─► classify ─► demonstrations. */
function synthesis(
  loop: PolicyLoop,
  { coldStart }: ToolStarSettings,
  { policy, hints = coldStartHints, ...how }: ToolStarParts,
): Flow {
  const { gate } = loop;
  const { seed, replay } = loop.context;
  const { direct, tools, concurrency } = coldStart;
  const trying = evolve({
    models: policy(loop.parts),
    tools: loop.parts.tools,
    gate,
    seed,
    recorded: replay?.unanswered,
    resultBlock,
    markers: loop.parts.dialect.tokenizer.markers ?? [],
    grow: coldStartPool({ ...how, direct, tools, hints: coldStart.hints ? hints : null }),
    quotas: coldStart.callLimit,
    extraQuotas: coldStart.extraCalls,
    rounds: 0,
    concurrency,
  });
  const triesOpen = inflightFor(concurrency * (3 * direct + tools));
  const classifying = demonstrations({
    ...coldStart,
    tools: loop.parts.tools,
    formatFault: loop.parts.dialect.formatFault,
    hints: allHints(hints),
    find: coldStartFindings,
    openMax: concurrency,
  });

  return flow(
    stage('cold-start', topics.questions, topics.evolved, pipe(inPhase('evolve'), trying)),
    stage('classify', topics.evolved, topics.demonstrations, classifying, triesOpen),
  );
}

/**
 * RL (§4.3): curriculum (the hard ones of `tried` questions) ─► rollout ─► score ─► batch; `rounds` are RL's
 * own.
 */
function reinforcement(
  loop: PolicyLoop,
  { batchGroups: groups, lagMax, hardMin, hardMax }: ToolStarSettings,
  tried: number,
  rounds: readonly number[],
): Flow {
  const hardOnes = curriculum({
    questions: tried,
    phase: 'practice',
    rounds,
    atLeast: hardMin,
    atMost: hardMax,
    seed: loop.context.seed,
  });
  const openMax = stepsOpen(lagMax);
  const batching = batch({ groups, openMax });
  const triedOpen = inflightFor(tried);

  return flow(
    stage('curriculum', topics.demonstrations, topics.questions, hardOnes, triedOpen),
    stage('practice', topics.questions, topics.rollouts, pipe(inPhase('practice'), loop.rollout)),
    stage('batch', topics.scored, topics.batches, batching, inflightFor(groups * openMax)),
  );
}

interface Sizes {
  /** Questions of the cold start, and of each self-critic; 0 = none. */
  readonly coldStart: number;
  readonly critic: number;
}

function sizesOf({ criticQuestions, coldStart }: ToolStarSettings, train: number): Sizes {
  return {
    coldStart: Math.min(coldStart.questions, train),
    critic: Math.min(criticQuestions, train),
  };
}

const ROUND = 'RL';

function coldStartRound({ coldStart }: Sizes): RoundPlan {
  return { name: 'cold start', phase: 'evolve', count: coldStart, skip: 0 };
}

/** A round of RL and its self-critic. RL takes no questions of the plan: the curriculum asks them. */
function roundsOf(loop: number, critic: number): RoundPlan[] {
  const number = loop + 1;
  const rl: RoundPlan = { name: `${ROUND} ${number}`, phase: null, count: 0, skip: 0 };
  if (critic === 0) return [rl];
  const name = `self-critic ${number}`;
  return [rl, { name, phase: 'prefer', count: critic, skip: loop * critic }];
}

function loopOf(settings: ToolStarSettings, verify?: VerifyAnswer): LoopShare {
  const { rollouts, evaluationRollouts, batchGroups, lr, miniBatches } = settings;
  return {
    samples: ({ phase }) => {
      if (phase === 'evaluate') return evaluationRollouts;
      return phase === 'prefer' ? settings.critic.samples : rollouts;
    },
    branching: () => null,
    reward:
      settings.reward === 'hierarchical' ? hierarchical(settings) : toolStarOutcome({ verify }),
    advantage: advantageEstimators[settings.advantage].group,
    training: { miniBatches, ...policyTraining(settings) },
    rates: { policy: lr },
    batchGroups,
    // Nothing is trained on as it was explored.
    window: 1,
  };
}
