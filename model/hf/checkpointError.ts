/** The error for files of a model: what is wrong with which file and tensor, then what to do. */
import { MillraceError } from '../../base/index.ts';

export interface CheckpointContext {
  readonly file: string;
  readonly tensor?: string;
  readonly expected?: unknown;
  readonly found?: unknown;
}

export function checkpointError(
  message: string,
  context: CheckpointContext,
  cause?: unknown,
): MillraceError<'CHECKPOINT'> {
  return new MillraceError('CHECKPOINT', message, {
    context: { ...context },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** `[2, 3]`, or `nothing` if there is no shape. */
export function shapeText(shape: readonly number[] | undefined): string {
  return shape === undefined ? 'nothing' : `[${shape.join(', ')}]`;
}
