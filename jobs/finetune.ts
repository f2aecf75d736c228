/**
 * `finetune`: action-space-exploration fine-tuning (ET-Agent §5), the last step of a flywheel's stage.
 *
 *     demonstrations ─► batch ─► trainer (SFT) ─► weights
 *
 * When the last question has given its demonstrations, they are shuffled and trained on for some epochs.
 */

import { batchDemonstrations } from '../operators/batchExamples.ts';
import { roundRate } from '../operators/batching/learningRate.ts';
import { type Flow, flow } from '../streams/flow.ts';
import type { Batch } from '../streams/records.ts';
import { stage } from '../streams/stage.ts';
import { topics } from '../streams/topics.ts';
import type { FinetuneSettings } from './finetuneSettings.ts';
import { type Method, type PolicyLoop, room } from './policyLoop.ts';

/** `questions` = how many the demonstrations are of, those that gave none too. */
export function finetune(loop: PolicyLoop, questions: number, settings: FinetuneSettings): Flow {
  const { seed } = loop.context;
  const lessons = batchDemonstrations({ ...settings, questions, seed, openMax: 1 });
  return flow(
    loop.begun,
    stage('lessons', topics.demonstrations, topics.batches, lessons, room(questions)),
    loop.trained,
    loop.rolled,
    loop.scored,
    loop.watched,
  );
}

/** A method that is fine-tuned before: demonstrations have a loss and a learning rate of their own. */
export function fineTuned(method: Method, settings: FinetuneSettings): Method {
  const { training } = method;
  const rate = roundRate(settings);
  const lr = (batch: Batch): number => {
    if (batch.kind === 'sft') return rate(batch);
    return typeof training.lr === 'number' ? training.lr : training.lr(batch);
  };
  const losses = { ...training.losses, sft: { kind: 'sft' } as const };
  return { ...method, training: { ...training, losses, lr, results: settings.results } };
}
