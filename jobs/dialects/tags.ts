/** `dialect=tags`: the papers' tags. */
import { loadChatPrompt } from '../../model/hf/index.ts';
import { chatFence, type Declared, tagsDialect } from '../../operators/dialect/index.ts';
import { onlyText, specOf } from '../../operators/dialect/native/index.ts';
import type { DialectKind } from './dialectKind.ts';

export const tags: DialectKind = {
  callsFunctions: false,
  systemPrompt,
  async open({ folder, tools, system }) {
    const { tokenizer, prompt } = await loadChatPrompt(folder, system);
    const names = tools.map((tool) => tool.name);
    return tagsDialect({
      ...{ tokenizer, tools: names },
      prompt: (question) => prompt(chatFence(question)),
    });
  },
};

/**
 * What the tags mean, and which tools there are. The papers' own texts come with their data; this one is
 * short.
 */
function systemPrompt(tools: readonly Declared[]): string {
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

/** What goes between the tags, if it is more than one text. */
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
