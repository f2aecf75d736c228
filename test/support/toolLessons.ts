/** What a policy is taught so that it calls a function, whichever it is and wherever it is trained. */
import type { FunctionTool, Message } from '../../gateway/conversation.ts';
import type { PolicyChat } from '../../gateway/sessions/policyChat.ts';
import type { TrainerEngine, TrainSequence } from '../../model/engine.ts';

export const ADD: FunctionTool = {
  name: 'add',
  description: 'Adds two numbers.',
  parameters: {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'integer' } },
    required: ['a', 'b'],
  },
};
export const SUM = 'What is the sum?';

/** Calls of the function with numbers of its choice, and what it gave. */
function lessons(chat: PolicyChat): TrainSequence[] {
  const { tokenizer, stopTokens } = chat;
  const said = (text: string) => [...tokenizer.encode(text), stopTokens[0]!];
  return Array.from({ length: CHOICES }, (_, a) => {
    const asked: Message[] = [{ role: 'user', content: SUM }];
    const given = `{"a": ${a}, "b": 1}`;
    const calls = [{ id: 'call', name: 'add', arguments: given }];
    const turn: Message = { role: 'assistant', content: '', reasoning: null, calls };
    const result: Message = { role: 'tool', callId: 'call', content: String(a + 1) };
    const parts = [
      [...chat.whole(asked, [ADD])],
      said(`<tool_call>\n{"name": "add", "arguments": ${given}}\n</tool_call>`),
      [...chat.grown([...asked, turn], [result], [ADD], true)],
      said(`It is ${a + 1}.`),
    ];
    const tokens = Int32Array.from(parts.flat());
    const zeros = new Float32Array(tokens.length);
    return {
      tokens,
      mask: Uint8Array.from(parts.flatMap((part, i) => part.map(() => i % 2))),
      advantages: zeros,
      oldLogProbs: zeros,
    };
  });
}

/** Numbers that it may choose. */
const CHOICES = 4;
/** Nats of a lesson that is learnt: two free choices, and a little for what is not sure. */
const LEARNT = 2 * Math.log(CHOICES) + 0.25;
const STEPS_MAX = 400;

/** Trains until it calls the function; fails if it does not learn. */
export async function teach(trainer: TrainerEngine, chat: PolicyChat, lr: number): Promise<void> {
  const sequences = lessons(chat);
  const targets = sequences.flatMap(({ mask }) => [...mask]).filter((is) => is === 1).length;
  for (let step = 0; step < STEPS_MAX; step++) {
    const { loss } = await trainer.step({ sequences, loss: { name: 'sft' }, lr });
    if ((loss * targets) / CHOICES < LEARNT) return;
  }
  throw new Error(`the policy has not learnt to call a function in ${STEPS_MAX} steps`);
}
