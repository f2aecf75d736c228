/**
 * NeMo-Gym's form: a resources server gets the row before the agent works (`/seed_session`, whose cookies it
 * gets back) and judges the row with the agent's response, an object of OpenAI's Responses (`/verify`).
 *
 * The row is the question's `task.world`; without one it is made of the question.
 */
import type { Question } from '../../topics/index.ts';
import { outputOf } from '../protocols/responses/items.ts';
import { type JudgedSession, toolsIn, turnsOf, type VerifierForm } from './session.ts';

export const nemoGymForm: VerifierForm = {
  seed: rowOf,
  seedPath: '/seed_session',
  path: '/verify',
  request({ id, question, calls }: JudgedSession) {
    const row = rowOf(question);
    const { responses_create_params: given } = row;
    const params = typeof given === 'object' && given !== null ? given : {};
    const tools = toolsIn(calls).map((tool) => ({ type: 'function', ...tool, strict: false }));
    const input = [{ role: 'user', content: question.question }];
    return {
      ...row,
      responses_create_params: { input, ...(tools.length === 0 ? {} : { tools }), ...params },
      response: {
        ...{ id: `resp_${id}`, object: 'response', model: 'policy' },
        created_at: Math.floor((calls[0]?.startedMs ?? 0) / 1000),
        output: itemsOf(calls),
        ...{ parallel_tool_calls: true, tool_choice: 'auto', tools },
      },
    };
  },
  partsIn({ reward_components: parts }) {
    return typeof parts === 'object' && parts !== null ? { ...parts } : {};
  },
};

function rowOf({ question, answers, task, id }: Question): Record<string, unknown> {
  const world = task?.world ?? '';
  const row: unknown = world === '' ? null : JSON.parse(world);
  if (typeof row === 'object' && row !== null && !Array.isArray(row)) return { ...row };
  const input = [{ role: 'user', content: question }];
  return { id, question, expected_answer: answers[0] ?? '', responses_create_params: { input } };
}

/** What the policy said and what its functions returned, as items. */
function itemsOf(calls: JudgedSession['calls']): unknown[] {
  return turnsOf(calls).flatMap(({ before, call }) => [
    ...before.flatMap((message) =>
      message.role === 'tool'
        ? [{ type: 'function_call_output', call_id: message.callId, output: message.content }]
        : [],
    ),
    ...outputOf(call.reply, false).map(({ said }) => said),
  ]);
}
