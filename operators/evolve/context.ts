/**
 * What the actions of one round share: the question, the models, the tools, the draws.
 */
import type { Draws } from '../../model/draws.ts';
import type { Question } from '../../streams/records.ts';
import { calledTool, type RunTool, resultOfCall } from './calls.ts';
import { defaultHints, type Hints } from './hints.ts';
import { type Complete, completePiece, type Role } from './models.ts';
import { toolLoop } from './toolLoop.ts';

export interface EvolveOptions {
  readonly complete: Complete;
  readonly run: RunTool;
  /** Most calls of each tool in a fresh trajectory. */
  readonly quotas: Readonly<Record<string, number>>;
  /** Added to them when a trajectory is continued. */
  readonly extraQuotas: Readonly<Record<string, number>>;
  /** Rounds of evolution after the first trajectory. */
  readonly rounds: number;
  /** Draws of this question. */
  readonly draws: Draws;
  readonly hints?: Hints;
  /**
   * `reference` keeps what the published flywheel does by mistake: a step hint of one character, rewriting in lower
   * case with a doubled tag, a judge asked until it says yes, pieces that nobody looks at. Default `clean`.
   */
  readonly mode?: 'clean' | 'reference';
}

export interface Round {
  readonly number: number;
  readonly question: Question;
  readonly options: EvolveOptions;
}

export function isReference({ options }: Round): boolean {
  return options.mode === 'reference';
}

/** Asks a model; its reply as one piece. */
export function ask(
  { number, options }: Round,
  role: Role,
  purpose: string,
  prompt: string,
  continuation = '',
): Promise<string> {
  const name = `${number}/${purpose}`;
  return completePiece(options.complete, { role, name, prompt, continuation });
}

/** A fresh trajectory of the policy. */
export async function rollOut(round: Round, purpose: string): Promise<string> {
  const { options } = round;
  const { text } = await toolLoop({
    piece: (text) => ask(round, 'policy', purpose, round.question.question, text),
    run: options.run,
    quotas: options.quotas,
    mode: options.mode ?? 'clean',
  });
  return text;
}

/** The policy goes on with a trajectory; its finished calls count against the raised quotas. */
export async function continueFrom(round: Round, purpose: string, start: string): Promise<string> {
  const { options } = round;
  const quotas = Object.fromEntries(
    Object.entries(options.quotas).map(([tool, quota]) => [
      tool,
      quota + (options.extraQuotas[tool] ?? 0),
    ]),
  );
  const { text } = await toolLoop({
    piece: (text) => ask(round, 'policy', purpose, round.question.question, `\n\n${text}`),
    run: options.run,
    quotas,
    start,
    mode: options.mode ?? 'clean',
  });
  return text;
}

/** Appends a rewritten step's own result, and lets the policy go on unless the step answers. */
export async function finishStep(
  round: Round,
  purpose: string,
  steps: readonly string[],
  newStep: string,
): Promise<string> {
  const { options } = round;
  const tool = calledTool(newStep, Object.keys(options.quotas));
  const result = tool === null ? '' : await resultOfCall(options.run, tool, newStep);
  const text = steps.join('') + result;
  return text.endsWith('</answer>') ? text : continueFrom(round, purpose, text);
}

/** A hint for this round, drawn uniformly. */
export function drawHint({ number, question, options }: Round, purpose: string): string {
  const list = (options.hints ?? defaultHints)[question.ability];
  return list[options.draws.under(number, purpose).integer(0, list.length)]!;
}
