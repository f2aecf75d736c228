/**
 * Whether an episode of one continued thought is well-formed. It need not think aloud, as the prompt has
 * opened the thought. Each action is written between its tags, its call can be read, and the end has an
 * answer in a box.
 */
import { type FormatFault, formatFault } from '../dialect/format.ts';
import { withEmptyResults } from '../dialect/results.ts';
import { blocks } from '../dialect/tags.ts';
import type { Variant } from '../text/variant.ts';
import { CALL, SEARCH } from './tags.ts';
import { writtenCall } from './tools/readCall.ts';

/**
 * The closing mark of an action that nothing opened: `read` left it among the words, with its mark broken.
 */
const UNOPENED = new RegExp(`< /(?:${SEARCH}|${CALL})>`);

/** The first fault of a trajectory; null = it is well-formed. */
export function episodeFault(trajectory: string, variant: Variant): FormatFault | null {
  const own = withEmptyResults(trajectory);
  const unreadable = blocks(own, CALL).some(({ inner }) => typeof writtenCall(inner) === 'string');
  if (unreadable || UNOPENED.test(own)) return 'malformed-call';
  const thinks = own.trimStart().startsWith('<think>');
  return formatFault(thinks ? own : `<think></think>${own}`, variant, [SEARCH, CALL]);
}
