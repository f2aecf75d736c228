/** Faults of form in words, for people. */
import type { FormatFault } from './format.ts';

const REASONS: Readonly<
  Record<Exclude<FormatFault, `${string}-incomplete` | `${string}-order`>, string>
> = {
  'malformed-call': 'a tool call cannot be read',
  'unpaired-think': 'a thought is opened and not closed',
  'no-think': 'there is no <think> block',
  'answer-tag-count': 'there is not exactly one answer block',
  'start-not-think': 'it does not begin with a thought',
  'end-not-answer': 'it does not end with the answer',
  'answer-reversed': 'the answer block closes before it opens',
  'no-box': 'the answer has no \\boxed{…}',
  'box-count': 'the answer has more than one \\boxed{…}',
  'tag-in-answer': 'there is a tag inside the answer',
};

/** A clause. */
export function formatReason(fault: FormatFault): string {
  if (fault in REASONS) return REASONS[fault as keyof typeof REASONS];
  const tool = fault.replace(/-(incomplete|order)$/, '');
  return fault.endsWith('-order')
    ? `the result of a ${tool} call is out of order`
    : `a ${tool} call is not closed or has no result`;
}
