/**
 * An evolve action: one way to make a new trajectory out of an old one. The method's own are `defaultActions`
 * (actions.ts); write another and add it to them:
 *
 *     const shorter: EvolveAction = {
 *       name: 'shorter',
 *       on: 'correct',
 *       apply: ({ question, parent, ask }) =>
 *         ask('analyst', `Say this in fewer words, tags and calls as they
 *         are.\n${question.question}\n${parent}`),
 *     };
 *     evolve({ ..., actions: [...defaultActions, shorter] })
 */
import type { Draws } from '../../base/index.ts';
import type { Question } from '../../topics/index.ts';
import type { Fence } from '../dialect/fence.ts';
import type { Role } from './models.ts';
import type { Prompts } from './prompts.ts';

/** One way to make a new trajectory of an old one: an action of the flywheel (ET-Agent §4). */
export interface EvolveAction {
  /** Appears in `Evolved.action`; unique among the actions of a flywheel. */
  readonly name: string;
  /** Which parents to try it on. */
  readonly on: 'correct' | 'incorrect';
  /** The whole new trajectory; null or '' if nothing came of it. An error drops this one trajectory. */
  readonly apply: (context: ActionContext) => Promise<string | null>;
}

/** What an action may use. The methods need no `this`, so they can be destructured. */
export interface ActionContext {
  readonly question: Question;
  /** The trajectory to improve. */
  readonly parent: string;
  readonly mode: 'repaired' | 'reference';
  readonly prompts: Prompts;
  /** The tags of the existing tools. */
  readonly tools: readonly string[];
  /** Breaks tags and chat markers in words of a model that must be plain text. */
  readonly fence: Fence;
  /** Draws of this action on this parent. */
  readonly draws: Draws;
  /**
   * Asks a model. The reply is trimmed and cut after its first call or answer; result tags, which only a tool
   * may write, and chat markers are broken. '' if the model gave up.
   */
  readonly ask: (role: Role, prompt: string, as?: AskAs) => Promise<string>;
  /** The reply as it came, tags and all; null when the model gave up. */
  readonly complete: (role: Role, prompt: string, as?: AskAs) => Promise<string | null>;
  /** A fresh trajectory of the policy. */
  readonly rollOut: () => Promise<string>;
  /** The policy continues a trajectory; its finished calls count against the raised quotas. */
  readonly continueFrom: (start: string) => Promise<string>;
  /** Runs the call that a step makes, whatever the quotas; its result block, '' if it makes none. */
  readonly runCall: (step: string) => Promise<string>;
  /** A hint for this kind of question, drawn uniformly. */
  readonly hint: () => string;
  /**
   * Number (from 1) of the first faulty step; the critic is asked once per parent, however many actions ask.
   * Null = it named none.
   */
  readonly locate: () => Promise<number | null>;
}

/** How an action asks a model, if it differs from a plain request. */
export interface AskAs {
  /** What the request is for, in its name (default: the action's name). */
  readonly purpose?: string;
  /** The text that the reply continues. */
  readonly continuation?: string;
  /** The reply may end after the first of these. */
  readonly stop?: readonly string[];
}

/** Steps up to a new one: the new step's call runs, and the policy continues unless the step answers. */
export async function finishStep(
  { runCall, continueFrom }: ActionContext,
  steps: readonly string[],
  newStep: string = steps.at(-1) ?? '',
): Promise<string> {
  const text = steps.join('') + (await runCall(newStep));
  return text.endsWith('</answer>') ? text : continueFrom(text);
}
