/**
 * Our own form: one request after the session, `{rollout_id, question, final_message, answer, calls,
 * tool_results, exit_code, output}`; the answer is `{reward, reason, …parts}`, the parts being its other
 * numbers.
 */
import { finalMessage, type JudgedSession, turnsOf, type VerifierForm } from './session.ts';

export const plainForm: VerifierForm = {
  seed: () => null,
  seedPath: '',
  path: '',
  request({ id, question, index, calls, answer, exitCode, output }: JudgedSession) {
    const { id: questionId, question: text, answers, task } = question;
    const turns = turnsOf(calls);
    return {
      rollout_id: id,
      index,
      question: { id: questionId, question: text, answers, task: task ?? null },
      answer,
      final_message: finalMessage(calls),
      calls: turns.map(({ call, turn }) => ({
        ...{ call: call.number, parent: call.parent?.number ?? null, join: call.join },
        ...{ content: turn.content, reasoning: turn.reasoning, finish: call.reply.finish },
        tool_calls: turn.calls,
      })),
      tool_results: turns.flatMap(({ before, call }) =>
        before.flatMap((message) =>
          message.role === 'tool'
            ? [
                {
                  ...{ before_call: call.number, tool_call_id: message.callId },
                  ...{ content: message.content, is_error: message.isError === true },
                },
              ]
            : [],
        ),
      ),
      exit_code: exitCode,
      output,
    };
  },
  partsIn: ({ reward: _, reason: __, ...rest }) => rest,
};
