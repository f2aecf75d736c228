/**
 * A session as a trajectory in the papers' tags, which rewards, metrics and pages read: thinking, calls with
 * their results, and at the end the answer. Whatever the agent or its tools put in between is a result: tags
 * in it open and close nothing, and none of it counts as written by the policy.
 */
import { fenceFor } from '../../operators/dialect/index.ts';
import { resultText } from '../conversation.ts';
import type { CallNode } from './callTree.ts';

const TAGS = /<(?=\/?(?:think|answer|result)>)/g;

/**
 * `chain` = the calls in the order of the rollout's tokens; `answer` = the final answer that was found, or
 * null.
 */
export function trajectoryOf(
  chain: readonly CallNode[],
  answer: string | null,
  markers: readonly string[],
): string {
  const names = [
    ...new Set(chain.flatMap(({ reply }) => reply.message.calls.map(({ name }) => name))),
  ].filter((name) => /^[\w-]+$/.test(name));
  const fence = fenceFor({ tools: names, markers });
  const words = (text: string): string => text.replace(TAGS, '< ');
  const said = chain.map((node, i) => {
    const { content, reasoning, calls } = node.reply.message;
    const thought = reasoning === null ? '' : `<think>${words(reasoning)}</think>`;
    const next = chain[i + 1];
    const outside = next?.parent === node ? next.messages.slice(next.kept) : [];
    const results = new Map(
      outside.flatMap((message) =>
        message.role === 'tool' ? [[message.callId, resultText(message)] as const] : [],
      ),
    );
    const called = calls.map(({ id, name, arguments: input }) => {
      const tag = names.includes(name) ? name : 'tool_call';
      const result = results.get(id);
      const shown = result === undefined ? '' : `<result>${fence(result)}</result>`;
      return `<${tag}>${fence(input)}</${tag}>${shown}`;
    });
    const others = outside.flatMap(({ role, content: text }) =>
      role === 'tool' ? [] : [`<result>${fence(`${role}: ${text}`)}</result>`],
    );
    return [thought, words(content), ...called, ...others].join('');
  });
  const end = answer === null ? '' : `<answer>\\boxed{${words(answer)}}</answer>`;
  return `${said.join('\n')}${end}`;
}
