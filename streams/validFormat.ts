/** What a reward's part `format` says. */
import type { Reward } from '../topics/index.ts'; // FIXME

/**
 * Whether a response has the form that the policy's dialect asks for (`Dialect.formatFault`: thoughts and calls in pairs, one
 * answer with one box), as `score` found it. Text without an answer has not.
 */
export function hasValidFormat(parts: Reward['parts']): boolean {
  return (parts.format ?? 0) >= 0;
}
