/**
 * The prompts of a jury (ET-Agent §9.4, §10), in our words; `judge.ts` reads the replies.
 *
 * Nothing shown to a jury can end its message or contain a verdict's tag. It can still claim to be right: a
 * judge that believes what it grades is a poor judge.
 */
import { chatFence, judgeFence } from '../../dialect/fence.ts';

/**
 * Whether an answer says what one of the references says. The reply ends in Correct or Incorrect, between
 * tags.
 */
export function judgePrompt(given: {
  readonly question: string;
  readonly references: readonly string[];
  readonly prediction: string;
}): string {
  return `You grade an answer against reference answers.

Question:
${judgeFence(given.question)}

Reference answers (any one of them is right):
${given.references.map((reference) => `- ${judgeFence(reference)}`).join('\n')}

Answer to grade:
${judgeFence(given.prediction)}

The answer is right when it means the same as one of the references and has all of its key information. Wording, units \
that go without saying and notation do not matter. More or other facts than the reference has make it wrong when they \
contradict it.

Reply with <judgment>Correct</judgment> or <judgment>Incorrect</judgment> and nothing else.`;
}

/**
 * Whether an answer solves a task that has no reference (ToolBench, DeepAgent §4.3); `output` = the work,
 * which is shown where the answer does not decide.
 */
export function solvedPrompt(given: {
  readonly question: string;
  readonly prediction: string;
  readonly output?: string;
}): string {
  const work =
    given.output === undefined
      ? ''
      : `

How it worked, with what the services answered in <result>:
${judgeFence(given.output)}`;
  const unsure =
    given.output === undefined
      ? ', <judgment>Unsure</judgment> if its answer alone does not show that'
      : '';
  return `You decide whether an assistant that could call web services solved a task.

Task:
${judgeFence(given.question)}

Its final answer:
${judgeFence(given.prediction)}${work}

The task is solved when the answer has everything that the task asks for and says nothing that shows otherwise. An answer that \
gives up, reports errors, or leaves a part of the task open does not solve it.

Reply with <judgment>Solved</judgment>${unsure}, or <judgment>Unsolved</judgment>, and nothing else.`;
}

/**
 * Whether a task can be solved with the functions at hand; `tools` = their descriptions as JSON, or names.
 */
export function solvablePrompt(given: {
  readonly question: string;
  readonly tools: readonly string[];
}): string {
  return `You decide whether a task can be solved by calls of web services.

Task:
${judgeFence(given.question)}

The functions at hand:
${given.tools.map((tool) => `- ${judgeFence(tool)}`).join('\n')}

The task cannot be solved if it lacks what a call would need to be told, or if no function gives what it asks for.

Reply with <judgment>Solvable</judgment>, <judgment>Unsolvable</judgment> or <judgment>Unsure</judgment>, and nothing \
else.`;
}

/**
 * Whether a trajectory has tool calls that it could have done without. The reply is yes or no, between tags.
 */
export function redundancyPrompt(given: {
  readonly question: string;
  readonly output: string;
  /** The tags of the tools that it may call. */
  readonly tools: readonly string[];
}): string {
  const named = given.tools.map((tool) => `<${tool}>`).join(' and ');
  return `Below is how an assistant that may call ${named} worked on a question. What a tool returned stands in <result>.

A tool call is redundant when its result was known already: it repeats an earlier call, or asks for what the assistant \
can work out at once. A tool call is ineffective when its result brings the assistant no step further: it fails, finds \
nothing, or nothing of it is used afterwards.

Question:
${chatFence(given.question)}

The assistant's work:
${chatFence(given.output)}

Does the work have redundant or ineffective tool calls? Reply with <answer>yes</answer> or <answer>no</answer> and \
nothing else.`;
}
