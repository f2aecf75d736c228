/** `tool-calls`: tool calls and their results, which make replay possible. */
import {
  flag,
  named,
  nullable,
  real,
  record,
  type shapes,
  text,
  type ValueOf,
  whole,
  withDefault,
} from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';

export const environmentStep = record('EnvironmentStep', {
  /** 0 if the environment gave none. */
  reward: real,
  /** The environment has ended the rollout. */
  done: flag,
});
/** What an environment reports about an action besides what the policy sees. */
export interface EnvironmentStep extends ValueOf<typeof environmentStep> {}

export const toolCall = record('ToolCall', {
  rolloutId: text,
  questionId: text,
  /** Number of the call within its rollout, from 0; -1 = the beginning of its environment. */
  turn: whole,
  tool: text,
  input: text,
  output: text,
  ok: flag,
  attempts: whole,
  cached: flag,
  ms: real,
  /** Set if the rollout acts in an environment. */
  step: withDefault(nullable(named<EnvironmentStep>(environmentStep)), null),
});
/** One tool call and its result, which makes replay possible. */
export interface ToolCall extends Omit<ValueOf<typeof toolCall>, 'step'> {
  /** What its environment reported; left out = there is none. */
  readonly step?: EnvironmentStep | null | undefined;
}

export const toolCalls = defineRunTopic<ToolCall>({
  name: 'tool-calls',
  about:
    'Tool calls and their results. Rollout writes it beside its rollouts; replay and reports read it.',
  shape: toolCall as unknown as shapes.Shape<ToolCall>,
  version: 2,
  key: (value) => value.rolloutId,
  subjects: ({ questionId }) => [questionId],
  large: true,
  // A killed run asks again, and may then find the answer in the cache.
  incidental: ['attempts', 'cached'],
  identity: ({ rolloutId, turn }) => `${rolloutId}#${turn}`,
  // A call says nothing about it; its effects show in the rollout.
  moment: () => Number.POSITIVE_INFINITY,
  keyName: 'rollout id',
  line: ({ tool, input, ok, cached, ms }) =>
    `${tool}(${input}): ${ok ? 'ok' : 'failed'}${cached ? ', cached' : ''}, ${Math.round(ms)} ms`,
  links: ({ rolloutId, questionId }) => [
    { label: 'trajectory', path: `t/${encodeURIComponent(rolloutId)}` },
    questionLink(questionId),
  ],
});
