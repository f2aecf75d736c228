/** `tool-calls`: tool calls as they went. What makes replay possible. */
import { flag, real, record, text, type ValueOf, whole } from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';

export const toolCall = record('ToolCall', {
  rolloutId: text,
  questionId: text,
  /** Number of the call within its rollout, from 0. */
  turn: whole,
  tool: text,
  input: text,
  output: text,
  ok: flag,
  attempts: whole,
  cached: flag,
  ms: real,
});
/** One tool call, as it went. What makes replay possible. */
export interface ToolCall extends ValueOf<typeof toolCall> {}

export const toolCalls = defineRunTopic<ToolCall>({
  name: 'tool-calls',
  about:
    'Tool calls and their results. Rollout writes it beside its rollouts; replay and reports read it.',
  shape: toolCall,
  key: (value) => value.rolloutId,
  subjects: ({ questionId }) => [questionId],
  large: true,
  // A killed run asks again, and may find the answer in the cache.
  incidental: ['attempts', 'cached'],
  identity: ({ rolloutId, turn }) => `${rolloutId}#${turn}`,
  // A call does not say; what follows from it shows in its rollout.
  moment: () => Number.POSITIVE_INFINITY,
  keyName: 'rollout id',
  line: ({ tool, input, ok, cached, ms }) =>
    `${tool}(${input}): ${ok ? 'ok' : 'failed'}${cached ? ', cached' : ''}, ${Math.round(ms)} ms`,
  links: ({ rolloutId, questionId }) => [
    { label: 'trajectory', path: `t/${encodeURIComponent(rolloutId)}` },
    questionLink(questionId),
  ],
});
