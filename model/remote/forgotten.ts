/** Whether a server's answer means that it lacks the requested weights. */
import { hasCode } from '../../base/index.ts';

/** A name that a server no longer knows, or the label of its start. */
export function isForgotten(error: unknown): boolean {
  if (hasCode(error, 'WEIGHTS_LOST')) return true;
  return hasCode(error, 'MODEL_ACCESS') && error.context.status === 404;
}
