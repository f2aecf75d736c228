/**
 * The system prompt of a dialect where a job gives none. For the papers' tags: what the tags mean, and which tools there are.
 *
 * The papers' own texts come with their data; this one says the same in few words.
 */
import type { Tool } from '../../operators/tools/tool.ts';

/** For a policy that calls functions: its chat template shows it the tools. */
export const nativeSystemPrompt =
  'Solve the question step by step. Call a tool only when it helps. End with the exact final answer in \\boxed{}.';

/** For a policy that may call these tools. */
export function tagsSystemPrompt(tools: readonly Pick<Tool, 'name' | 'about'>[]): string {
  const calls = tools.map(({ name, about }) => `- <${name}>…</${name}>: ${about}`);
  const withTools =
    tools.length === 0
      ? []
      : [
          'While you think you may call a tool: write its input between its tags and stop; what it gives is then put between <result> and </result>.',
          ...calls,
          'Call a tool only when it helps.',
        ];
  return [
    'Solve the question step by step. Write your thinking between <think> and </think>.',
    ...withTools,
    'At the end write the answer between <answer> and </answer>, with the exact final answer in \\boxed{}: <answer>The answer is \\boxed{…}.</answer>',
  ].join('\n');
}
