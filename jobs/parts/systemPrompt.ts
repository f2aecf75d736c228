/**
 * The system prompt of a dialect where a job gives none. For the papers' tags: what the tags mean, and which
 * tools there are.
 *
 * The papers' own texts come with their data; this one says the same in few words.
 */

import type { Declared } from '../../operators/dialect/index.ts';
import { onlyText, specOf } from '../../operators/dialect/native/index.ts';
import type { DialectName } from './dialectOf.ts';

/** That of ready jobs. */
export function systemPrompt(dialect: DialectName, tools: readonly Declared[]): string {
  return dialect === 'native' ? nativeSystemPrompt : tagsSystemPrompt(tools);
}

/** For a policy that calls functions: its chat template shows it the tools. */
export const nativeSystemPrompt =
  'Solve the question step by step. Call a tool only when it helps. End with the exact final answer in \\boxed{}.';

/** For a policy that may call these tools. */
export function tagsSystemPrompt(tools: readonly Declared[]): string {
  const calls = tools.map(
    (tool) => `- <${tool.name}>…</${tool.name}>: ${tool.about}${input(tool)}`,
  );
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

/** What is written between the tags, where that is more than one text. */
function input(tool: Declared): string {
  const { parameters } = tool;
  if (parameters === undefined || onlyText(specOf(tool)) !== null) return '';
  const fields = Object.entries(parameters.properties).map(([name, { type, description }]) => {
    const optional = parameters.required?.includes(name) ? '' : ', may be left out';
    const about = description === undefined ? '' : `: ${description}`;
    return `"${name}" (${type ?? 'any'}${optional})${about}`;
  });
  const stop = /[.!?]$/.test(tool.about) ? '' : '.';
  return `${stop} Its input is one JSON object with ${fields.join('; ') || 'nothing in it'}.`;
}
