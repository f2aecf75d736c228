/**
 * Rolls out and scores one question by a job's stages, without a run: nothing is scheduled or trained.
 * `millrace try` shows the result.
 */
import type { OperatorFunction } from 'rxjs';
import type { Clock } from '../base/index.ts';
import type { Delivery } from '../streams/deliveries/index.ts';
import {
  flow,
  type Log,
  recordsOf,
  type Stage,
  source,
  stage,
  type Topic,
} from '../streams/index.ts';
import { runFlow } from '../streams/run/index.ts';
import { type Question, type Rollout, type Scored, topics } from '../topics/index.ts';

/** The group of a question. `rollouts[i]` and `scored.rewards[i]` belong together. */
export interface Attempt {
  readonly rollouts: readonly Rollout[];
  readonly scored: Scored;
}

/** The stages that a question passes, and where its records are kept. */
export interface AttemptStages {
  readonly log: Log;
  readonly clock: Clock;
  /** Answers tool calls; empty if rollouts make them themselves. */
  readonly answering: readonly Stage[];
  readonly rollout: OperatorFunction<Delivery<Question>, Delivery<Rollout>>;
  readonly score: OperatorFunction<Delivery<Rollout>, Delivery<Scored>>;
}

/** Rejects with the failure of a stage. */
export async function attempted(
  question: Question,
  { log, clock, answering, rollout, score }: AttemptStages,
): Promise<Attempt> {
  const asking = flow(
    source('question', topics.questions, [{ value: question }]),
    ...answering,
    stage('rollout', topics.questions, topics.rollouts, rollout),
    stage('score', topics.rollouts, topics.scored, score),
  );
  await runFlow(asking, { log, clock });
  const rollouts = await all(log, topics.rollouts);
  const [scored] = await all(log, topics.scored);
  return { rollouts: rollouts.toSorted((a, b) => a.index - b.index), scored: scored! };
}

async function all<T>(log: Log, topic: Topic<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const { value } of recordsOf(log, topic, { from: { kind: 'earliest' } }))
    found.push(value);
  return found;
}
