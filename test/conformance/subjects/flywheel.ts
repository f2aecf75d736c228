/**
 * Text trajectories and the flywheel, with scripted models and tools.
 */
import type { DrawKey, Draws } from '../../../base/draws.ts';
import { extractAnswer } from '../../../operators/dialect/answer.ts';
import { plainBlock } from '../../../operators/dialect/resultBlock.ts';
import { defaultActions } from '../../../operators/evolve/actions.ts';
import { flywheel, type TurnReport } from '../../../operators/evolve/flywheel.ts';
import { asPiece, type CompletionRequest, withRetry } from '../../../operators/evolve/models.ts';
import { loadPrompts } from '../../../operators/evolve/prompts.ts';
import { outputOfCall } from '../../../operators/evolve/runTool.ts';
import { toolLoop } from '../../../operators/evolve/toolLoop.ts';
import { cutCodePoints } from '../../../operators/text/characters.ts';
import type { Question } from '../../../topics/index.ts';
import { type Subjects, subject } from '../subject.ts';

type Results = Readonly<Record<string, string | null | { readonly error: string }>>;
interface Tools {
  readonly search: Results;
  readonly python: Results;
}
interface LoopArgs {
  readonly completions: readonly (string | null)[];
  readonly tools: Tools;
  readonly maxPython: number;
  readonly maxSearch: number;
  readonly maxPythonResultLength: number;
}
interface FlywheelArgs {
  readonly record: {
    readonly input: string;
    readonly answer: string | readonly string[] | number;
    readonly source: string;
  };
  readonly rounds: number;
  readonly scripts: Readonly<Record<string, readonly (string | null)[]>>;
  readonly tools: Tools;
  readonly quotas: {
    readonly maxPython: number;
    readonly maxSearch: number;
    readonly additionalPython: number;
    readonly additionalSearch: number;
    readonly maxPythonResultLength: number;
  };
  readonly hints: { readonly math: readonly string[]; readonly search: readonly string[] };
  readonly hintChoices: Readonly<Record<string, readonly number[]>>;
}

export const flywheelSubjects: Subjects = {
  'tool-loop': subject<LoopArgs>(scriptedLoop),
  'flywheel-run': subject<FlywheelArgs>(scriptedFlywheel),
};

/** Tools from a table; what Python says is cut, its failures too. */
function runner(tools: Tools, pythonResultMax: number, called: [string, string][] = []) {
  return async (tool: string, input: string) => {
    called.push([tool, input]);
    const outcome = tools[tool as keyof Tools][input] ?? null;
    if (outcome === null) return null;
    const text = typeof outcome === 'string' ? outcome : `Tool execute failed: ${outcome.error}`;
    return tool === 'python' ? cutCodePoints(text, pythonResultMax) : text;
  };
}

const CLOSE_TAGS = ['</answer>', '</search>', '</python>'];

async function scriptedLoop(args: LoopArgs): Promise<unknown> {
  const continuations: string[] = [];
  const complete = async (continuation: string) => {
    continuations.push(continuation);
    const text = args.completions[continuations.length - 1];
    return text === undefined ? '' : text;
  };
  const run = runner(args.tools, args.maxPythonResultLength);
  const { text, logs, calls } = await toolLoop({
    piece: async (continuation) =>
      asPiece((await withRetry(() => complete(continuation))) ?? '', CLOSE_TAGS),
    result: async (tool, piece) => plainBlock(await outputOfCall(run, tool, piece)),
    quotas: { python: args.maxPython, search: args.maxSearch },
    mode: 'reference',
  });
  return {
    output: text,
    prediction: extractAnswer(text, 'rollout'),
    searchCalls: calls.search,
    pythonCalls: calls.python,
    logs,
    modelCalls: continuations.length,
    continuations,
  };
}

const judgedSources = ['openr1', 'numina-tir', 'numina-cot', 'aime'];

async function scriptedFlywheel(args: FlywheelArgs): Promise<unknown> {
  const { record, quotas } = args;
  if (record.source === 'dapo' || typeof record.answer === 'number') {
    throw new Error('the published flywheel cannot judge this record');
  }
  const modelCalls = new Map<string, number>();
  const continuations = new Map<string, string[]>();
  const called: [string, string][] = [];
  const complete = async ({ role, name, continuation }: CompletionRequest) => {
    const at = modelCalls.get(name) ?? 0;
    modelCalls.set(name, at + 1);
    if (role === 'policy' || name.endsWith('/refine')) {
      continuations.set(name, [...(continuations.get(name) ?? []), continuation]);
    }
    const text = args.scripts[name]?.[at];
    return text === undefined ? '' : text;
  };
  const question: Question = {
    id: 'q',
    question: record.input,
    answers: typeof record.answer === 'string' ? [record.answer] : record.answer,
    source: record.source,
    ability: judgedSources.includes(record.source) ? 'math' : 'qa',
    phase: 'explore',
    round: 0,
    schedule: null,
  };
  const { pool, turns } = await flywheel(question, {
    complete,
    run: runner(args.tools, quotas.maxPythonResultLength, called),
    quotas: { python: quotas.maxPython, search: quotas.maxSearch },
    extraQuotas: { python: quotas.additionalPython, search: quotas.additionalSearch },
    rounds: args.rounds,
    draws: chosen(args.hintChoices),
    key: [],
    prompts: loadPrompts(),
    actions: defaultActions,
    signal: new AbortController().signal,
    hints: { math: args.hints.math, qa: args.hints.search },
    mode: 'reference',
  });
  return {
    buffer: pool.map((one) => one.text),
    predictions: pool.map((one) => one.prediction),
    judgements: pool.map((one) => one.correct),
    actions: pool.map(({ round, parent, action }) => ({ round, parent, action })),
    rounds: turns.map(asPublished),
    modelCalls: Object.fromEntries(modelCalls),
    continuations: Object.fromEntries(continuations),
    toolCalls: called.sort(([a, b], [c, d]) => order(a, c) || order(b, d)),
  };
}

/** Without a faulty step the published flywheel drops one kid for both actions that need it. */
function asPublished({ round, parent, branch, dropped, faultyStep }: TurnReport) {
  const names = dropped.map(({ action }) => action);
  const others = names.filter((name) => name !== 'self-correct' && name !== 'step-hint');
  return { round, parent, branch, dropped: faultyStep === null ? ['locate', ...others] : names };
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Draws that give the scripted choices. */
function chosen(choices: FlywheelArgs['hintChoices'], key: readonly DrawKey[] = []): Draws {
  return {
    uniform: () => 0,
    integer: (index) => choices[key.join('/')]![index]!,
    under: (...more) => chosen(choices, [...key, ...more]),
  };
}
