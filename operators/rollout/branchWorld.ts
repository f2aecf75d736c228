/**
 * The environment of a rollout: its beginning, which is a call like any other (number -1), and what has been
 * done in it. The policy reads what it shows below the question.
 */
import type { Question, ToolCall, WorldEnd } from '../../topics/index.ts';
import type { CallTool } from '../callTools.ts';
import { ENVIRONMENT } from '../tools/environment/environmentTools.ts';
import type { PastCall } from '../tools/tool.ts';

/** What a trajectory has done in its environment. Immutable: branches share what came before. */
export interface BranchWorld {
  /** Steps in order, the beginning first. */
  readonly steps: readonly (PastCall & { readonly turn: number; readonly reward: number })[];
  readonly done: boolean;
}

/** Number of the call that begins an environment. */
export const BEGINNING = -1;

/** Whether a question is asked in an environment. */
export function hasWorld({ task }: Pick<Question, 'task'>): boolean {
  return (task?.world ?? '') !== '';
}

/** The question, followed by what its environment shows. */
export function questionIn(question: string, shown: string): string {
  return shown === '' ? question : `${question}\n\n${shown}`;
}

/** Starts the environment of a rollout. Rejects if it cannot be reached. */
export async function beginWorld(
  tools: CallTool,
  { id: questionId, task }: Question,
  rolloutId: string,
  signal: AbortSignal,
): Promise<{ readonly call: ToolCall; readonly world: BranchWorld }> {
  const origin = { rolloutId, turn: BEGINNING };
  const asked = { tool: ENVIRONMENT, input: task?.world ?? '' };
  const called = await tools.call(asked.tool, asked.input, signal, origin);
  const call: ToolCall = { ...origin, questionId, ...asked, ...called };
  const world = steppedBy({ steps: [], done: false }, call);
  if (world.steps.length === 0)
    throw new Error(`the question needs an environment, and there is none: ${called.output}`);
  return { call, world };
}

/** Adds the effect of a call, if it was a step. */
export function steppedBy(
  world: BranchWorld,
  { turn, tool, input, output, step }: ToolCall,
): BranchWorld {
  if (step === undefined || step === null) return world;
  const { reward, done } = step;
  return { steps: [...world.steps, { turn, tool, input, output, reward }], done };
}

/** Its state before the call with this number. */
export function worldBefore(world: BranchWorld | null, turn: number): BranchWorld | null {
  if (world === null) return null;
  const steps = world.steps.filter((step) => step.turn < turn);
  return { steps, done: world.done && steps.length === world.steps.length };
}

/** Its final state. */
export function worldEnd(world: BranchWorld | null): WorldEnd | null {
  if (world === null) return null;
  const reward = world.steps.reduce((sum, step) => sum + step.reward, 0);
  return { done: world.done, reward, steps: Math.max(0, world.steps.length - 1) };
}
