/**
 * Brings the trainer to a version that training continues from. If its state was not saved, or a crash came
 * before it was written, the trainer goes back to the newest version before it whose state exists, and
 * repeats the steps since then: the batches are in the log, and the same batches give the same bits. The
 * digests in the manifest say whether they did.
 */
import { hasCode, MillraceError, type Report } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { TrainerEngine } from '../../model/index.ts';
import { type Log, recordsOf } from '../../streams/index.ts';
import { type Batch, topics, type Weights } from '../../topics/index.ts';
import type { WeightsStore } from '../weights/weights.ts';
import { LEFT_OUT } from './entropyLeft.ts';
import type { VersionedEngine } from './versionedEngine.ts';

export interface Repetition<Plan> {
  readonly engine: TrainerEngine;
  readonly learner: VersionedEngine;
  readonly store: WeightsStore;
  readonly log: Log;
  readonly report: Report;
  /** Prepares a batch before the engine holds the version that it begins with; may change weights. */
  plan(batch: Batch, until: AbortSignal): Promise<Plan>;
  /** Its optimiser steps. */
  step(plan: Plan): Promise<unknown>;
}

/** Fails with code `DIGEST` if the weights differ from those that were published. */
export async function bringTo<Plan>(
  wanted: Weights,
  { engine, learner, store, log, report, plan, step }: Repetition<Plan>,
  until: AbortSignal,
): Promise<void> {
  if (learner.trains(wanted)) return;
  const saved = await store.trainable(wanted);
  if (saved.version === wanted.version) return learner.toTrain(wanted);
  const batches = await batchesBetween(saved, wanted, { store, log });
  const steps = counted(batches.length, 'step');
  report(
    `the optimiser state of version ${wanted.version} was not saved: repeating ${steps} from version ${saved.version}`,
  );
  const refused = await refusedSteps(log, saved.step);
  const plans: Plan[] = [];
  for (const batch of batches) {
    if (!refused.has(batch.step)) plans.push(await plan(batch, until));
  }
  await learner.toTrain(saved);
  learner.changes();
  for (const one of plans) {
    until.throwIfAborted();
    await step(one);
  }
  await store.saveAgain(engine, wanted).catch((cause: unknown) => {
    throw hasCode(cause, 'DIGEST') ? otherBits(saved, wanted, cause) : cause;
  });
  learner.holds(wanted);
}

/** Of the versions after `saved`, in order. */
async function batchesBetween(
  saved: Weights,
  wanted: Weights,
  { store, log }: Pick<Repetition<unknown>, 'store' | 'log'>,
): Promise<Batch[]> {
  const batches: Batch[] = [];
  for (let at = wanted; at.version > saved.version; at = await store.manifest(at.parent)) {
    const [batch] = at.consumed === null ? [] : await log.fetch(topics.batches, [at.consumed]);
    if (batch === undefined) {
      throw new MillraceError(
        'NO_WEIGHTS',
        `the manifest of version ${at.version} does not say which batch made it, so its step cannot be repeated`,
      );
    }
    batches.unshift(batch.value);
  }
  return batches;
}

const REFUSED = 'step/refused';
/** Metrics of a few dozen steps. */
const LATELY = 4096;

/** Steps after `step` that left weights and state unchanged. */
async function refusedSteps(log: Log, step: number): Promise<ReadonlySet<number>> {
  const refused = new Set<number>();
  // The step itself, or the topic's beginning, is far enough back.
  for (let count = LATELY; ; count *= 8) {
    let read = 0;
    let oldest = Number.POSITIVE_INFINITY;
    const from = { kind: 'last', count } as const;
    for await (const { value } of recordsOf(log, topics.metrics, { from })) {
      read += 1;
      // Written with every step, in order; evaluations come late.
      if (value.name === 'lr') oldest = Math.min(oldest, value.step);
      if ([REFUSED, LEFT_OUT].includes(value.name) && value.step > step) refused.add(value.step);
    }
    if (oldest <= step || read < count) return refused;
  }
}

function otherBits(
  saved: Weights,
  { version }: Weights,
  cause: MillraceError,
): MillraceError<'DIGEST'> {
  return new MillraceError(
    'DIGEST',
    `repeating the steps since version ${saved.version} did not reproduce the weights of version ${version}: ` +
      'this machine or its ONNX Runtime does not compute the same bits as the one that made them. ' +
      `Resume it there, or go back to version ${saved.version}: millrace rewind RUN --to step=${saved.step} --into NAME`,
    { context: { ...cause.context, version }, cause },
  );
}
