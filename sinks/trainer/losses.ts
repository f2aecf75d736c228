/** Which loss each kind of batch minimises. */
import { MillraceError } from '../../base/index.ts';
import type { Loss } from '../../model/index.ts';
import { type LossData, type PreparedLoss, prepareLoss } from '../../model/losses/index.ts';
import type { Batch, BatchKind } from '../../topics/index.ts';

/** A kind without a loss cannot be trained on. */
export type Losses = { readonly [Kind in BatchKind]?: Loss };

/** What batches of a kind contain. */
const HELD: Readonly<Record<BatchKind, LossData>> = {
  policy: 'rollouts',
  sft: 'texts',
  dpo: 'pairs',
};

/** Fails with code `NO_LOSS`. */
export function lossOf({ kind, step }: Batch, losses: Losses): Loss {
  const loss = losses[kind];
  if (loss !== undefined) return loss;
  throw new MillraceError(
    'NO_LOSS',
    `batch ${step} is of kind ${kind}, for which the trainer has no loss: set losses.${kind}`,
  );
}

/** Whether any of them compares with a reference policy. */
export async function compares(losses: Losses): Promise<boolean> {
  const prepared = await Promise.all(Object.values(losses).map((loss) => prepareLoss(loss)));
  return prepared.some(({ reference }) => reference);
}

/** What the loss needs and reports. Fails with code `NO_LOSS` if it needs what such batches lack. */
export async function preparedFor({ kind, step }: Batch, loss: Loss): Promise<PreparedLoss> {
  const prepared = await prepareLoss(loss);
  if (prepared.data === HELD[kind]) return prepared;
  throw new MillraceError(
    'NO_LOSS',
    `batch ${step} has ${HELD[kind]}, but its loss ${loss.name} needs ${prepared.data}: set losses.${kind} to another loss`,
  );
}
