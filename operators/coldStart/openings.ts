/**
 * Helps a stock policy to its first call, in the papers' tags: examples before the question, and the
 * beginning of a call that it only has to finish. Neither is learnt: a demonstration has the question alone.
 */
import type { Question } from '../../topics/index.ts';

const EXAMPLES: Readonly<Record<string, string>> = {
  python: `Question: A mill grinds 48 sacks a day. How many sacks does it grind in 37 days?
<think>I multiply with Python.</think><python>print(48 * 37)</python> <result>
1776
</result><think>Python says 1776.</think><answer>The answer is \boxed{1776}.</answer>`,
  search: `Question: In which town was the painter Ilse Marn born?
<think>I look her up.</think><search>Ilse Marn painter born</search> <result>
Ilse Marn (1881 to 1940) was a painter. She was born in Dolm.
</result><think>The page says Dolm.</think><answer>The answer is \boxed{Dolm}.</answer>`,
};

/** The question after an example of each tool that has one. */
export function afterExamples(tools: readonly string[]): (question: string) => string {
  const examples = tools.flatMap((tool) => EXAMPLES[tool] ?? []);
  return (question) =>
    examples.length === 0
      ? question
      : `Answer the last question as the examples do.\n\n${examples.join('\n\n')}\n\nQuestion: ${question}`;
}

/** An opened call of the tool that suits the question: Python for mathematics, a search for knowledge. */
export function openedCall(tools: readonly string[]): (question: Question) => string {
  return ({ ability }) => {
    const suited = ability === 'math' ? 'python' : 'search';
    const tool = tools.includes(suited) ? suited : tools[0];
    if (tool === undefined) return '';
    const thought = tool === 'python' ? 'I compute it with Python.' : 'I look it up.';
    return `<think>${thought}</think><${tool}>`;
  };
}
