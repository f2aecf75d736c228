/**
 * `toolLight`: Tool-Light's two stages of preferences (§4.6), for fewer and better tool calls, as one stream.
 *
 *     questions ─► evolve (direct answers) ─► classify ─► curriculum (the source set) ─► questions
 *                                                                                            │
 *     weights ◄── trainer (DPO) ◄── batch (13:7, 2:1) ◄── pairs ◄── score ◄── rollout ◄──────┘
 *
 * The source set are the questions that the policy answers wrongly without tools. Stage 1, pre-aligned: they are sampled,
 * some freely and some guided by entropy, and the pairs of both are mixed. Stages 2 and on, self-evolved: the policy of
 * each loop samples them again. Held-out questions are measured before the first stage and after each.
 */
import { pipe } from 'rxjs';
import { draws } from '../base/draws.ts';
import { grpo } from '../model/credit/grpo.ts';
import type { Mix } from '../operators/batching/mix.ts';
import { coldStartFindings } from '../operators/coldStart/findings.ts';
import { type ColdStartOptions, coldStartPool } from '../operators/coldStart/pool.ts';
import { curriculum } from '../operators/curriculum.ts';
import { demonstrations } from '../operators/demonstrations.ts';
import { resultBlock } from '../operators/dialect/resultBlock.ts';
import type { Complete } from '../operators/evolve/models.ts';
import { evolve } from '../operators/evolve.ts';
import {
  type GuidedOptions,
  preAlignedGuided,
  preAlignedVanilla,
  selfEvolved,
} from '../operators/preferences/toolLight.ts';
import { efficiency } from '../operators/rewards/efficiency.ts';
import { watching } from '../operators/sampling/watching.ts';
import { type Flow, flow } from '../streams/flow.ts';
import type { Question } from '../streams/records.ts';
import { stage } from '../streams/stage.ts';
import { topics } from '../streams/topics.ts';
import { inPhase, type Method, type PolicyLoop, room } from './policyLoop.ts';
import { prefer, preferring } from './prefer.ts';
import type { ToolLightPlan } from './toolLightPlan.ts';
import type { ToolLightSettings } from './toolLightSettings.ts';

export interface ToolLightParts {
  /** The policy as a model of text, for direct inference. */
  readonly policy: Complete;
  /** How it is asked to answer without tools; left out = by the question itself. */
  readonly ask?: ColdStartOptions['ask'];
  /** What a question was fine-tuned on, chosen where no guided chain is right; left out = then there is no pair. */
  readonly demonstration?: (question: Question) => GuidedOptions['demonstration'];
}

export function toolLight(
  loop: PolicyLoop,
  plan: ToolLightPlan,
  settings: ToolLightSettings,
  { policy, ask, demonstration }: ToolLightParts,
): Flow {
  const { seed } = loop.context;
  const { gate, parts } = loop;
  const { concurrency, sourceMin, sourceMax, tokensMax } = settings;
  const { questions, stages } = plan;
  const direct = evolve({
    ...{ models: policy, tools: parts.tools, gate, seed, concurrency, resultBlock },
    grow: coldStartPool({ tools: 0, hints: null, ...(ask === undefined ? {} : { ask }) }),
    quotas: 0,
    rounds: 0,
  });
  const classify = demonstrations({
    tools: parts.tools,
    find: coldStartFindings,
    openMax: concurrency,
  });
  const sourceSet = curriculum({
    ...{ questions, atLeast: sourceMin, atMost: sourceMax, seed, phase: 'prefer' },
    stages: stages.map((_, number) => number).slice(1),
  });
  const { pairsMax } = settings.prefer;
  const criterion = (question: Question) => {
    if (question.stage > 1) return selfEvolved({ pairsMax, tokensMax });
    if (!isGuided(question, seed, settings)) return preAlignedVanilla({ pairsMax, tokensMax });
    const shown = demonstration?.(question);
    return preAlignedGuided({ pairsMax, tokensMax, ...(shown ? { demonstration: shown } : {}) });
  };

  return flow(
    loop.begun,
    stage('direct', topics.questions, topics.evolved, pipe(inPhase('evolve'), direct)),
    stage('classify', topics.evolved, topics.demonstrations, classify, room(concurrency)),
    stage('source-set', topics.demonstrations, topics.questions, sourceSet, room(questions)),
    stage('sample', topics.questions, topics.rollouts, pipe(inPhase('prefer'), loop.rollout)),
    prefer(loop, settings.prefer, {
      ...{ criterion, mix: mixOf(settings), most: questions },
      questions: ({ schedule }) => schedule!.of,
    }),
  );
}

/** What Tool-Light makes of the loop. */
export function toolLightMethod(settings: ToolLightSettings, seed: number): Method {
  const { evaluationRollouts, guided, candidates } = settings;
  const method: Method = {
    samples: ({ phase }) => (phase === 'evaluate' ? evaluationRollouts : settings.prefer.samples),
    branching: (question) => {
      if (question.phase === 'evaluate') return null;
      return question.stage === 1 && isGuided(question, seed, settings) ? guided : watching;
    },
    // Nothing is rewarded here: accuracy and format, as evaluations count them.
    reward: efficiency({ sigmaTool: 0, sigmaLength: 0 }),
    advantage: grpo(),
    training: { losses: {}, lr: settings.prefer.lr, miniBatches: 1 },
    // All questions of a stage are sampled under the version that it begins with.
    ...{ batchGroups: candidates, window: candidates },
    phases: ['evaluate'],
  };
  return preferring(method, settings.prefer);
}

/** Whether the pre-aligned stage samples a question guided by entropy: each is sampled one way. */
function isGuided({ id }: Question, seed: number, settings: ToolLightSettings): boolean {
  return draws(seed, 'guided', id).uniform(0) < settings.guidedShare;
}

/** Vanilla to guided times hard to easy; the self-evolved stages have the second alone. */
function mixOf({ mix }: ToolLightSettings): Mix {
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
