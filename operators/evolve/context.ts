/**
 * What the actions of one round share (the question, the models, the tools, the draws), and the context that
 * each action gets.
 */
import type { DrawKey, Draws } from '../../base/index.ts';
import type { Question } from '../../topics/index.ts';
import { calledTool } from '../dialect/calls.ts';
import { chatFence, type Fence, fenceFor, ownWords, stepFence } from '../dialect/fence.ts';
import { plainBlock, type ResultBlock } from '../dialect/resultBlock.ts';
import { numberedSteps } from '../dialect/steps.ts';
import { stripEnd } from '../text/characters.ts';
import type { ActionContext, AskAs, EvolveAction } from './action.ts';
import { defaultHints, type Hints } from './hints.ts';
import { asPiece, type Complete, type Role, withRetry } from './models.ts';
import type { Prompts } from './prompts.ts';
import { readFaultyStep } from './replies.ts';
import { outputOfCall, type RunTool } from './runTool.ts';
import { toolLoop } from './toolLoop.ts';

/** The flywheel of one question. */
export interface FlywheelOptions {
  readonly complete: Complete;
  readonly run: RunTool;
  /** Limit of calls of each tool in a fresh trajectory; its keys are the existing tools. */
  readonly quotas: Readonly<Record<string, number>>;
  /** Added to these limits when a trajectory is continued. */
  readonly extraQuotas: Readonly<Record<string, number>>;
  /** Rounds of evolution after the first trajectories. */
  readonly rounds: number;
  /** Draws of this question: hints. */
  readonly draws: Draws;
  /** Names this question's requests (`CompletionRequest.draws`). */
  readonly key: readonly DrawKey[];
  readonly prompts: Prompts;
  readonly actions: readonly EvolveAction[];
  readonly signal: AbortSignal;
  readonly hints?: Hints;
  /** First trajectories (default 1, as published; the paper samples several). */
  readonly initial?: number;
  /** Limit of parents per round, best first (default 1, as published; the paper evolves the whole pool). */
  readonly parents?: number;
  /** How a result appears in the text (default `plainBlock`). */
  readonly resultBlock?: ResultBlock;
  /** Applied to results before they become text (default: a fence against the tags of `quotas`' tools). */
  readonly fence?: Fence;
  /** The policy version in use, read when a trajectory begins (default 0). */
  readonly version?: () => number;
  /**
   * `reference` keeps what the published flywheel does by mistake; docs/flywheel.md lists what differs.
   * Default `repaired`.
   */
  readonly mode?: 'repaired' | 'reference';
}

/** One parent's turn. `label` names its requests and draws: `1`, and `1.1` for a round's second parent. */
export interface Turn {
  readonly label: string;
  readonly question: Question;
  readonly options: FlywheelOptions;
}

type Named = AskAs & { readonly purpose: string };

/** Asks a model under a name of this turn; null if every attempt failed. */
function request(turn: Turn, role: Role, prompt: string, as: Named): Promise<string | null> {
  const { options, label } = turn;
  const name = `${label}/${as.purpose}`;
  const { continuation = '', stop = [] } = as;
  return withRetry((attempt) => {
    const draws = [...options.key, name, attempt];
    return options.complete({ role, name, draws, prompt, continuation, stop }, options.signal);
  });
}

/** The tags that end a piece of a trajectory. */
function closeTags({ quotas }: FlywheelOptions): string[] {
  return ['answer', ...Object.keys(quotas)].map((tag) => `</${tag}>`);
}

/**
 * A reply as one piece of a trajectory; '' if the model gave up. A step may have the tags of a step; only a
 * tool writes a result, and a message ends where the chat template says.
 */
async function ask(turn: Turn, role: Role, prompt: string, as: Named): Promise<string> {
  const tags = closeTags(turn.options);
  const piece = asPiece((await request(turn, role, prompt, { stop: tags, ...as })) ?? '', tags);
  if (role === 'policy' || turn.options.mode === 'reference') return piece;
  return stepFence(piece);
}

/** The policy's next piece. Only a tool writes results: any that the policy makes up is cut away. */
async function nextPiece(turn: Turn, purpose: string, text: string): Promise<string> {
  const stop = [...closeTags(turn.options), '<result>'];
  const as = { purpose, continuation: text, stop };
  const { question } = turn.question;
  if (turn.options.mode === 'reference') return ask(turn, 'policy', question, as);
  // A server that reads text takes chat markers in it for the template's own.
  const piece = await ask(turn, 'policy', chatFence(question), as);
  const made = piece.indexOf('<result>');
  return ownWords(made < 0 ? piece : stripEnd(piece.slice(0, made)));
}

/** `text` = the trajectory as far as it is known, ending in the piece. */
async function resultOf(
  turn: Turn,
  by: string,
  { tool, piece, text }: { readonly tool: string; readonly piece: string; readonly text: string },
): Promise<string> {
  const { run, mode, resultBlock = plainBlock } = turn.options;
  const named = (called: string, input: string) => run(called, input, `${turn.label}/${by}`, text);
  const output = await outputOfCall(named, tool, piece);
  return resultBlock(mode === 'reference' ? output : fenceOf(turn.options)(output));
}

function fenceOf({ fence, quotas }: FlywheelOptions): Fence {
  return fence ?? fenceFor({ tools: Object.keys(quotas) });
}

/** A trajectory of the policy, from the question or, with the raised quotas, from `start` on. */
export async function grow(turn: Turn, action: string, start?: string): Promise<string> {
  const { options } = turn;
  const { quotas, extraQuotas, mode = 'repaired' } = options;
  const raised = Object.entries(quotas).map(([tool, most]) => [
    tool,
    most + (extraQuotas[tool] ?? 0),
  ]);
  const purpose = start === undefined ? action : `${action}-continue`;
  // The published code sets a continued trajectory off from the generation prompt by two newlines.
  const lead = start !== undefined && mode === 'reference' ? '\n\n' : '';
  const { text } = await toolLoop({
    piece: (text) => nextPiece(turn, purpose, lead + text),
    result: (tool, piece, text) => resultOf(turn, action, { tool, piece, text }),
    quotas: start === undefined ? quotas : Object.fromEntries(raised),
    start: start ?? '',
    mode,
  });
  return text;
}

/** A first trajectory. */
export function rollOut(turn: Turn): Promise<string> {
  return grow(turn, 'initial');
}

/** The context of `action` on `parent`. `locate` is shared by the actions on that parent. */
export function actionContext(
  turn: Turn,
  action: EvolveAction,
  parent: string,
  locate: () => Promise<number | null>,
): ActionContext {
  const { options, question, label } = turn;
  const { quotas, hints = defaultHints, mode = 'repaired', prompts } = options;
  const { name } = action;
  const draws = options.draws.under(label, name);
  const list = hints[question.ability];
  return {
    question,
    parent,
    mode,
    prompts,
    tools: Object.keys(quotas),
    fence: fenceOf(options),
    draws,
    locate,
    ask: (role, prompt, as) => ask(turn, role, prompt, { purpose: name, ...as }),
    complete: (role, prompt, as) => request(turn, role, prompt, { purpose: name, ...as }),
    rollOut: () => grow(turn, name),
    continueFrom: (start) => grow(turn, name, start),
    hint: () => list[draws.integer(0, list.length)]!,
    async runCall(step) {
      const tool = calledTool(step, Object.keys(quotas));
      return tool === null ? '' : resultOf(turn, name, { tool, piece: step, text: step });
    },
  };
}

/** Asks the critic for the first faulty step of `parent`, once. */
export function locator(turn: Turn, parent: string): () => Promise<number | null> {
  let asked: Promise<number | null> | null = null;
  return () => {
    const prompt = turn.options.prompts.locate({
      question: turn.question.question,
      steps: numberedSteps(parent),
    });
    asked ??= ask(turn, 'critic', prompt, { purpose: 'locate' }).then(readFaultyStep);
    return asked;
  };
}
