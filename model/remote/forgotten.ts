/** Whether a server's answer means that it lacks the requested weights. */
import { hasCode, MillraceError } from '../../base/index.ts';
import type { ServerWire, Serving } from './serverWire.ts';

/** A name that a server no longer knows, or the label of its start. */
export function isForgotten(error: unknown): boolean {
  if (hasCode(error, 'WEIGHTS_LOST')) return true;
  return hasCode(error, 'MODEL_ACCESS') && error.context.status === 404;
}

/** Fails with code `WEIGHTS_LOST` if a server refused because it does not have the adapter. */
export function checkLost(
  reason: string,
  { adapters }: ServerWire,
  { adapter }: Pick<Serving, 'adapter'>,
): void {
  if (adapter === null || adapters?.isLost?.(reason) !== true) return;
  throw new MillraceError('WEIGHTS_LOST', `a server was restarted and has lost '${adapter}'`);
}
