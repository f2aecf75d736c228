/** `dialect=native`: the policy's own function calling, through its chat template. */
import { loadChatTokenizer } from '../../model/hf/index.ts';
import { nativeChat, nativeDialect, specOf } from '../../operators/dialect/native/index.ts';
import type { DialectKind } from './dialectKind.ts';

export const native: DialectKind = {
  callsFunctions: true,
  // The chat template shows the tools.
  systemPrompt: () =>
    'Solve the question step by step. Call a tool only when it helps. End with the exact final answer in \\boxed{}.',
  async open({ folder, tools, system, faults }) {
    const specs = tools.map(specOf);
    const tokenizer = await loadChatTokenizer(folder);
    const { chat, form } = nativeChat({ tokenizer, tools: specs, system, folder });
    return nativeDialect({ chat, form, tools: specs, faults });
  },
};
