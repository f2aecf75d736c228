/**
 * `finetune`: action-space-exploration fine-tuning (ET-Agent §5), the last step of a flywheel's stage.
 *
 *     demonstrations ─► lessons (batch) ─► trainer (SFT) ─► weights
 *
 * When the last question has given its demonstrations, they are shuffled and trained on for some epochs. Held-out questions
 * are rolled out and measured before and after.
 */
import { batchDemonstrations } from '../operators/batchExamples.ts';
import { roundRate } from '../operators/batching/learningRate.ts';
import { type Flow, flow } from '../streams/flow.ts';
import { stage } from '../streams/stage.ts';
import { topics } from '../streams/topics.ts';
import type { FinetuneSettings } from './finetuneSettings.ts';
import { learningToo, type Method, type PolicyLoop, room } from './policyLoop.ts';

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
  const { training, ...rest } = learningToo(method, 'sft', { name: 'sft' }, roundRate(settings));
  return { ...rest, training: { ...training, results: settings.results } };
}
