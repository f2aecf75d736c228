/**
 * Everything written so far as numbered steps, for an auxiliary model that condenses or remembers (DeepAgent
 * §2.2).
 */
import { isBlank, strip } from '../text/characters.ts';

/**
 * The paragraphs of a text, between blank lines, as `Step 1: …`; `last` = only the last few, numbered from 1
 * again.
 */
export function historySteps(output: string, last = Number.POSITIVE_INFINITY): string {
  const steps = output.split('\n\n').filter((paragraph) => !isBlank(paragraph));
  const from = Math.max(0, steps.length - last);
  return steps
    .slice(from)
    .map((step, i) => `Step ${i + 1}: ${strip(step)}`)
    .join('\n\n');
}
