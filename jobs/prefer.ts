/**
 * `prefer`: a stage of preferences, the last step of Tool-Star's and Tool-Light's stages.
 *
 *     questions ─► rollout ─► score ─► pairs (by a criterion) ─► preferences (batch) ─► trainer (DPO) ─► weights
 *
 * When the last question has given its pairs, they are mixed, shuffled and trained on. The reference policy is the one that
 * wrote the responses, frozen.
 */
import type { NamedLoss } from '../model/losses/index.ts';
import { type BatchExamplesOptions, batchPairs } from '../operators/batchExamples.ts';
import { roundRate } from '../operators/batching/learningRate.ts';
import { type PairsOptions, pairs } from '../operators/pairs.ts';
import { type Flow, flow } from '../streams/flow.ts';
import { stage } from '../streams/stage.ts';
import { topics } from '../streams/topics.ts';
import { learningToo, type Method, type PolicyLoop, room } from './policyLoop.ts';
import type { PreferSettings } from './preferSettings.ts';

export interface PreferParts extends Pick<BatchExamplesOptions, 'questions' | 'mix'> {
  readonly criterion: PairsOptions['criterion'];
  /** Most questions of a stage. */
  readonly most: number;
}

export function prefer(loop: PolicyLoop, settings: PreferSettings, parts: PreferParts): Flow {
  const { log, seed, settings: shared } = loop.context;
  const { concurrency } = shared;
  const { tools } = loop.parts;
  const paired = pairs({ log, tools, criterion: parts.criterion, concurrency });
  const { pairsMax: perQuestionMax } = settings;
  const lessons = batchPairs({ ...settings, ...parts, perQuestionMax, seed, openMax: 1 });
  return flow(
    loop.begun,
    loop.rolled,
    loop.scored,
    stage('pairs', topics.scored, topics.pairs, paired, room(concurrency)),
    stage('preferences', topics.pairs, topics.batches, lessons, room(parts.most)),
    loop.trained,
    loop.watched,
  );
}

/** A method that learns from preferences too: pairs have a loss and a learning rate of their own. */
export function preferring(method: Method, settings: PreferSettings): Method {
  const dpo = { name: 'dpo', settings: { beta: settings.beta } } satisfies NamedLoss;
  return learningToo(method, 'dpo', dpo, roundRate(settings));
}
