/**
 * The final answer of a trajectory, taken from its answer block (ET-Agent §1.7).
 */

import { lastBoxed, unwrap } from '../../base/text/index.ts';
import { strip } from '../text/characters.ts';
import type { Variant } from '../text/variant.ts';
import { nextBlock } from './tags.ts';

/**
 * The final answer. `rollout` and `selection` take the last answer block and its last box, or the whole block
 * without one; with no block they look for a box in the whole text (`rollout` then gives '' and `selection`
 * null if there is none). `reward` takes the first answer block as it is; null without one.
 */
export function extractAnswer(text: string, variant: Variant): string | null {
  if (variant === 'reward') return firstAnswerBlock(text);
  const inner = lastAnswerBlock(text);
  if (inner === null || inner === '') return contentOfLastBox(strip(text), variant);
  return contentOfLastBox(strip(inner), variant) || inner;
}

/** The text between the first `<answer>` and the next `</answer>`; null if they are missing. */
export function firstAnswerBlock(text: string): string | null {
  return nextBlock(strip(text), 'answer')?.inner ?? null;
}

function lastAnswerBlock(text: string): string | null {
  const close = text.lastIndexOf('</answer>');
  if (close < 0) return null;
  const before = text.slice(0, close);
  const open = before.lastIndexOf('<answer>');
  return open < 0 ? null : before.slice(open + '<answer>'.length);
}

/** Removes the command of `\boxed{…}`, and `\text{…}` inside it too. */
function contentOfLastBox(text: string, variant: Variant): string | null {
  const box = lastBoxed(text, variant);
  return box === null ? null : unwrap(unwrap(box, '\\boxed{'), '\\text{');
}
