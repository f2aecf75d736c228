/**
 * What the flywheel asks its analyst and its critic (ET-Agent §4.4, §4.6, §4.7). The formats that `replies.ts` reads are
 * stated here.
 */

function task(question: string, rest: string): string {
  return `Question:\n${question}\n\n${rest}`;
}

/** The critic judges a mathematical answer: `Correct` or `Incorrect`. */
export function judgePrompt(
  question: string,
  answers: readonly string[],
  prediction: string,
): string {
  return task(
    question,
    `Reference answers (any one counts):\n${answers.join('\n')}\n\nPrediction:\n${prediction}\n\n` +
      'Does the prediction mean the same as a reference answer? Reply with one word: Correct or Incorrect.',
  );
}

/** The critic looks for a step with redundant thinking or calls and shortens it. */
export function redundancyPrompt(question: string, numberedSteps: string): string {
  return task(
    question,
    `A correct solution, step by step:\n${numberedSteps}\n\n` +
      'Find one step with redundant parts: thinking that repeats itself or leads nowhere, or a tool call whose ' +
      'result was known already or is never used. Keep the tags. If there is none reply exactly "Step: no". ' +
      'Otherwise reply in three lines:\nStep: <its number>\nAnalysis: <what is redundant>\n' +
      'Corrected Step: <the whole step without it>',
  );
}

/** The critic finds the first step at which a wrong solution goes wrong. */
export function locatePrompt(question: string, numberedSteps: string): string {
  return task(
    question,
    `A solution with a wrong answer, step by step:\n${numberedSteps}\n\n` +
      'Find the first flawed step. Flaws are: a logical error, overthinking, a tool call that was not needed, a tool ' +
      'call that was unsuitable. Reply in two lines:\nStep: <its number>\nAnalysis: <the flaw>',
  );
}

/** The opener of the analyst's reply, when the flawed step is known. */
export function analysisOpener(step: number): string {
  return `\n\nStep: ${step}\nAnalysis: In this step I`;
}

/** The analyst rewrites the last of the given steps. */
export function newStepPrompt(question: string, numberedSteps: string, analysis: string): string {
  return task(
    question,
    `The steps so far:\n${numberedSteps}\n\nWhat is wrong with the last one:\n${analysis}\n\n` +
      'Write a better last step and nothing else: thinking in <think></think>, then at most one call in ' +
      '<search></search> or <python></python>, or the answer in <answer></answer>.',
  );
}

/** The critic rewrites the thinking of a whole trajectory around its actions. */
export function refinePrompt(question: string, trajectory: string): string {
  return task(
    question,
    `A correct solution:\n${trajectory}\n\n` +
      'Write it again with shorter and clearer thinking. Change only what is inside <think></think>; leave the tags, ' +
      'their order, queries, code, results and the answer as they are.',
  );
}
