/**
 * `toolLight`: Tool-Light's two rounds of preferences (§4.6), for fewer and better tool calls, as one stream.
 *
 *     questions ─► evolve (direct answers) ─► classify ─► curriculum (the source set) ─► questions
 *                                                                                            │
 *     weights ◄── trainer (DPO) ◄── batch (13:7, 2:1) ◄── pairs ◄── score ◄── rollout ◄──────┘
 *
 * The source set are the questions that the policy answers wrongly without tools. Round 1, pre-aligned: they
 * are sampled, freely and guided by entropy, and the pairs of both are mixed. Rounds 2 and on,
 * self-evolved: the policy of each loop samples them again. Held-out questions are measured before the first
 * round and after each.
 */
import { pipe } from 'rxjs';
import { z } from 'zod';
import { draws } from '../base/index.ts';
import { grpo } from '../model/credit/index.ts';
import type { ClassMix } from '../operators/batching/index.ts';
import {
  type ColdStartOptions,
  coldStartFindings,
  coldStartPool,
} from '../operators/coldStart/index.ts';
import { resultBlock } from '../operators/dialect/index.ts';
import type { Complete } from '../operators/evolve/index.ts';
import { curriculum, demonstrations, evolve } from '../operators/index.ts';
import {
  type GuidedOptions,
  preAlignedBoth,
  preAlignedGuided,
  preAlignedVanilla,
  selfEvolved,
} from '../operators/preferences/index.ts';
import { efficiency } from '../operators/rewards/index.ts';
import { entropyOnly } from '../operators/sampling/index.ts';
import { type Flow, flow, stage } from '../streams/index.ts';
import { type Question, topics } from '../topics/index.ts';
import { type LoopShare, type Method, sharesOf } from './method.ts';
import type { RoundPlan } from './plan.ts';
import { inflightFor, inPhase, type PolicyLoop, type PolicyParts } from './policyLoop.ts';
import { policySettings, positiveInt } from './policySettings.ts';
import { prefer, preferSettings } from './prefer.ts';

const share = z.number().nonnegative();

/**
 * Proportions of Tool-Light's pairs as a zod schema: 13 : 7 vanilla to guided, 2 : 1 hard to easy. Only
 * ratios count.
 */
export const mixSettings = z.object({
  vanilla: share.default(13).describe('pairs of freely sampled chains, in proportion to guided'),
  guided: share.default(7).describe('pairs of chains guided by entropy, in proportion to vanilla'),
  hard: share.default(2).describe('pairs of hard questions, in proportion to easy'),
  easy: share.default(1).describe('pairs of easy questions, in proportion to hard'),
  scarce: z
    .number()
    .min(0)
    .max(1)
    .default(0.25)
    .describe(
      'a class with less than this fraction of its share is used whole and does not limit the others',
    ),
});

/** The settings of `toolLight` as a zod schema (Tool-Light §4.6). */
export const toolLightSettings = policySettings.extend({
  callLimit: positiveInt
    .default(8)
    .describe('maximum tool calls per rollout (in the paper: 4 of each tool)'),
  candidates: positiveInt.default(400).describe('questions to try by direct inference'),
  sourceMin: positiveInt
    .default(48)
    .describe(
      'minimum questions in the source set, filled up with those that direct inference got right',
    ),
  sourceMax: positiveInt.default(4000).describe('maximum questions in the source set'),
  loops: z.number().int().nonnegative().default(2).describe('self-evolution loops'),
  evaluationRollouts: positiveInt.default(2).describe('rollouts per held-out question'),
  toolCallLimit: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe(
      'maximum calls of each tool per rollout; a call beyond it gets no result, and the rollout ends after what the policy writes next; 0 = only callLimit',
    ),
  ways: z
    .enum(['both', 'one'])
    .default('both')
    .describe(
      'how the pre-aligned round samples each question: both freely and guided by entropy, or in only one of these ways',
    ),
  guidedShare: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('with ways=one: fraction of the source set that is sampled guided by entropy'),
  guided: z
    .object({
      steps: positiveInt.default(3).describe('steps of a main chain at which to branch'),
      perStep: positiveInt.default(3).describe('branches at each of these steps'),
    })
    .prefault({}),
  mix: mixSettings.prefault({}).describe('proportions of pairs: vanilla to guided, hard to easy'),
  tokensMax: positiveInt.default(6000).describe('maximum response tokens in a pair'),
  prefer: preferSettings.prefault({}),
});

/** The settings of `toolLight`, with all defaults filled in. */
export type ToolLightSettings = z.infer<typeof toolLightSettings>;

/** What `toolLight` runs on besides the loop's own parts. */
export interface ToolLightParts {
  /** The policy as a model of text, for direct inference. */
  readonly policy: (parts: PolicyParts) => Complete;
  /** How to ask the policy to answer without tools; left out = by the question itself. */
  readonly ask?: ColdStartOptions['ask'];
  /**
   * The demonstration of a question, chosen if no guided chain is right; left out = then there is no pair.
   */
  readonly demonstration?: (question: Question) => GuidedOptions['demonstration'];
}

/** Tool-Light (§4.6): a pre-aligned round, then `loops` self-evolved ones, each trained with DPO. */
export function toolLight(settings: ToolLightSettings, parts: ToolLightParts): Method {
  return (place) => {
    const questions = Math.min(settings.candidates, place.train);
    const rounds = roundsOf(settings, questions);
    const preferring = prefer(settings.prefer, {
      criterion: (question) => criterionOf(question, place.seed, settings, parts),
      perQuestionMax: settings.prefer.pairsMax * (settings.ways === 'both' ? 2 : 1),
      mix: mixOf(settings),
      most: questions,
      questions: ({ schedule }) => schedule?.of ?? questions,
    })(place);
    const sizes = { questions, rounds: rounds.map((_, number) => number + 1) };
    return {
      rounds,
      loop: sharesOf([loopOf(settings, place.seed), preferring.loop]),
      wire: (loop) => flow(sampling(loop, settings, parts, sizes), preferring.wire(loop)),
    };
  };
}

/** Up to the responses: direct inference, the source set that follows from it, and its rollouts. */
function sampling(
  loop: PolicyLoop,
  { concurrency, sourceMin, sourceMax }: ToolLightSettings,
  { policy, ask }: ToolLightParts,
  { questions, rounds }: { readonly questions: number; readonly rounds: readonly number[] },
): Flow {
  const { gate } = loop;
  const { seed, replay } = loop.context;
  const direct = evolve({
    models: policy(loop.parts),
    tools: loop.parts.tools,
    gate,
    seed,
    recorded: replay?.unanswered,
    concurrency,
    resultBlock,
    markers: loop.parts.dialect.tokenizer.markers ?? [],
    grow: coldStartPool({ tools: 0, hints: null, ...(ask === undefined ? {} : { ask }) }),
    quotas: 0,
    rounds: 0,
  });
  const { tools, dialect } = loop.parts;
  const { formatFault } = dialect;
  const classify = demonstrations({
    tools,
    formatFault,
    find: coldStartFindings,
    openMax: concurrency,
  });
  const sourceSet = curriculum({
    questions,
    rounds,
    phase: 'prefer',
    atLeast: sourceMin,
    atMost: sourceMax,
    seed,
  });

  return flow(
    loop.begun,
    stage('direct', topics.questions, topics.evolved, pipe(inPhase('evolve'), direct)),
    stage('classify', topics.evolved, topics.demonstrations, classify, inflightFor(concurrency)),
    stage('source-set', topics.demonstrations, topics.questions, sourceSet, inflightFor(questions)),
    stage('sample', topics.questions, topics.rollouts, pipe(inPhase('prefer'), loop.rollout)),
  );
}

/**
 * Direct inference and the pre-aligned round, then the self-evolution loops, whose questions the curriculum
 * asks.
 */
function roundsOf({ loops }: ToolLightSettings, questions: number): RoundPlan[] {
  const evolved = Array.from({ length: loops }, (_, loop): RoundPlan => {
    return { name: `self-evolved ${loop + 1}`, phase: null, count: 0, skip: 0 };
  });
  return [{ name: 'pre-aligned', phase: 'evolve', count: questions, skip: 0 }, ...evolved];
}

function loopOf(settings: ToolLightSettings, seed: number): LoopShare {
  const { evaluationRollouts, guided, candidates, toolCallLimit } = settings;
  const { samples } = settings.prefer;
  const isBoth = ({ phase, round }: Question): boolean =>
    settings.ways === 'both' && phase === 'prefer' && round === 1;
  return {
    samples: (question) => {
      if (question.phase === 'evaluate') return evaluationRollouts;
      return isBoth(question) ? samples + 1 + guided.steps * guided.perStep : samples;
    },
    branching: (question) => {
      if (question.phase === 'evaluate') return null;
      if (isBoth(question)) return { ...guided, free: samples };
      return question.round === 1 && isGuided(question, seed, settings) ? guided : entropyOnly;
    },
    ...(toolCallLimit === 0 ? {} : { toolLimit: () => toolCallLimit }),
    // Nothing is rewarded here: accuracy and format, as in evaluations.
    reward: efficiency({ sigmaTool: 0, sigmaLength: 0 }),
    advantage: grpo(),
    // All questions of a round are sampled under the version that it begins with.
    batchGroups: candidates,
    window: candidates,
    phases: ['evaluate'],
  };
}

function criterionOf(
  question: Question,
  seed: number,
  settings: ToolLightSettings,
  parts: ToolLightParts,
) {
  const { tokensMax, prefer: preferring, ways } = settings;
  const limits = { pairsMax: preferring.pairsMax, tokensMax };
  if (question.round > 1) return selfEvolved(limits);
  const demonstration = parts.demonstration?.(question);
  const guided = { ...limits, ...(demonstration ? { demonstration } : {}) };
  if (ways === 'both') return preAlignedBoth(preferring.samples, guided);
  return isGuided(question, seed, settings) ? preAlignedGuided(guided) : preAlignedVanilla(limits);
}

/** With `ways=one`: whether the pre-aligned round samples a question guided by entropy. */
function isGuided({ id }: Question, seed: number, settings: ToolLightSettings): boolean {
  return draws(seed, 'guided', id).uniform(0) < settings.guidedShare;
}

/** Vanilla to guided times hard to easy; the self-evolved rounds have only the second. */
function mixOf({ mix }: ToolLightSettings): ClassMix {
  const { vanilla, guided, hard, easy, scarce } = mix;
  const both = (name: string, share: number): [string, number][] => [
    [`${name}/hard`, share * hard],
    [`${name}/easy`, share * easy],
  ];
  const shares = [
    ...both('vanilla', vanilla),
    ...both('guided', guided),
    ...both('self-evolved', 1),
  ];
  return { shares: Object.fromEntries(shares), scarce };
}
