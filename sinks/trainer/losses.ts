/** What is minimised, by the kind of batch. */

import { MillraceError } from '../../base/errors.ts';
import type { Loss } from '../../model/engine.ts';
import type { Batch, BatchKind } from '../../streams/records.ts';

export type LossOf<Kind extends BatchKind> = Extract<Loss, { readonly kind: Kind }>;

/** A kind without a loss cannot be trained on. */
export type Losses = { readonly [Kind in BatchKind]?: LossOf<Kind> };

/** Fails with code `NO_LOSS`. */
export function lossOf({ kind, step }: Batch, losses: Losses): Loss {
  const loss = losses[kind];
  if (loss !== undefined) return loss;
  throw new MillraceError(
    'NO_LOSS',
    `batch ${step} is of kind ${kind}, and the trainer has no loss for that: give it losses.${kind}`,
  );
}
