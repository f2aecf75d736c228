/**
 * A dialect of your own: ReAct, as many prompts have it (Thought, Action, Action Input, Observation, Final
 * Answer).
 */
import type { Tokenizer } from 'millrace';
import { type Dialect, fenceFor, formatFault, type Part } from 'millrace/operators';

const OBSERVATION = 'Observation:';

/** `prompt` is the question's, with the instructions; the policy goes on with its first thought. */
export function react(
  tokenizer: Tokenizer,
  tools: readonly string[],
  prompt: (question: string) => Int32Array,
): Dialect {
  const fence = fenceFor({ tools, markers: [OBSERVATION, ...(tokenizer.markers ?? [])] });
  const observed = (output: string) => ` ${fence(output)}\n`;
  const callIn = (turn: string) => {
    const [, tool = '', input = ''] = /Action: *(\S+)\s+Action Input: *(.*)/.exec(turn) ?? [];
    return tools.includes(tool) ? { tool, input: input.trim() } : null;
  };
  /** The policy's words as a trajectory has them; tags that it writes itself mean nothing here. */
  const written = (turn: string): string =>
    fence(turn.split(OBSERVATION)[0] ?? '')
      .replace(/Thought: *(.*)\n?/g, '<think>$1</think>')
      .replace(/Action: *(\S+)\s+Action Input: *(.*)\n?/g, '<$1>$2</$1>')
      .replace(/Final Answer: *([\s\S]*)/, '<answer>$1</answer>');
  /** A trajectory as the policy would have written it: its own words, then what it observed, and so on. */
  const pieces = (trajectory: string): readonly Part[] =>
    trajectory.split(/ ?(<result>\n?[\s\S]*?\n?<\/result>)/).map((text): Part => {
      const result = /^<result>\n?([\s\S]*?)\n?<\/result>$/.exec(text);
      if (result !== null) return { author: 'tool', text: observed(result[1] ?? '') };
      const own = text
        .replace(/<think>([\s\S]*?)<\/think>/g, (_, thought) => `Thought: ${thought}\n`)
        .replace(/<answer>([\s\S]*?)<\/answer>/, 'Final Answer: $1')
        .replace(/<(\w+)>([\s\S]*?)<\/\1>/g, `Action: $1\nAction Input: $2\n${OBSERVATION}`);
      return { author: 'policy', text: own };
    });
  const encoded = ({ author, text }: Part) => tokenizer.encode(text, { tags: author === 'policy' });

  return {
    name: 'react',
    tokenizer,
    tools,
    prompt,
    stopTokens: [tokenizer.endToken],
    stopTexts: [OBSERVATION],
    turn(turns, stop) {
      const call = stop.text === null ? null : callIn(turns.at(-1) ?? '');
      if (call !== null) return { calls: [call] };
      return turns.at(-1)?.includes('Final Answer:') ? 'answer' : 'stop';
    },
    results: (outputs) => tokenizer.encode(outputs.map(observed).join(''), { tags: false }),
    read: (parts) =>
      parts
        .map(({ author, text }) =>
          author === 'tool' ? ` <result>\n${fence(text.trim())}\n</result>` : written(text),
        )
        .join(''),
    formatFault: (trajectory, variant) => formatFault(trajectory, variant, tools),
    continuation: (trajectory) =>
      Int32Array.from(pieces(trajectory).flatMap((piece) => [...encoded(piece)])),
    encodeExample(question, trajectory, results) {
      const tokens = [...prompt(question)];
      const mask = tokens.map(() => 0);
      for (const piece of pieces(trajectory)) {
        const more = encoded(piece);
        tokens.push(...more);
        mask.push(
          ...Array.from(more, () => (piece.author === 'policy' || results === 'trained' ? 1 : 0)),
        );
      }
      tokens.push(tokenizer.endToken);
      mask.push(1);
      return {
        tokens: Int32Array.from(tokens),
        mask: Uint8Array.from(mask),
        advantages: new Float32Array(tokens.length),
        oldLogProbs: new Float32Array(tokens.length),
      };
    },
  };
}
