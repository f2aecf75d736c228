/** An agent that is a function of a job file: it gets the policy's address, and may return an answer. */
import { messageOf, raceAbort } from '../../base/index.ts';
import type { Agent, AgentTask } from './agent.ts';

/** Resolves with the answer, or with nothing: then the policy's last message is the answer. */
export type AgentFunction = (task: AgentTask, signal: AbortSignal) => Promise<string | undefined>;

/** If it throws, the run has failed. */
export function functionAgent(run: AgentFunction): Agent {
  return {
    async run(task, signal) {
      try {
        const answer = await raceAbort(run(task, signal), signal);
        const given = typeof answer === 'string' ? { answer } : {};
        return { failure: '', exitCode: null, output: '', ...given };
      } catch (error) {
        signal.throwIfAborted();
        return { failure: `the agent failed: ${messageOf(error)}`, exitCode: null, output: '' };
      }
    },
    close: async () => undefined,
  };
}
