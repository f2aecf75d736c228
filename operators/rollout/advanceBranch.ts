/**
 * One step of one branch: a segment is generated, and the tool call that it ends in is run and its result
 * appended (ARPO reference §1.5, steps 1 to 5, per question).
 *
 * A step never rejects except when the signal aborts: what goes wrong ends the branch with its reason.
 */

import { type DrawKey, hasCode, messageOf } from '../../base/index.ts';
import { type GenerateRequest, samplingIn } from '../../model/index.ts';
import type { Finish, Question, ToolCall } from '../../topics/index.ts';
import { type Dialect, type DialectCall, endTokens } from '../dialect/dialect.ts';
import type { Branching } from '../sampling/branching.ts';
import { LOG_PROBS_PER_TOKEN } from '../sampling/entropyGuided.ts';
import type { Called } from '../tools/callTool.ts';
import {
  appendGeneration,
  appendResult,
  type Branch,
  nameTool,
  partsOf,
  turnStart,
} from './branch.ts';
import { beginWorld, hasWorld, questionIn, steppedBy } from './branchWorld.ts';
import { type Calls, helped, refined } from './helping.ts';
import type { RolloutOptions } from './options.ts';
import { precedence } from './precedence.ts';

/** What the branches of one question share. */
export interface Growth {
  readonly question: Question;
  readonly options: RolloutOptions;
  readonly signal: AbortSignal;
  readonly branching: Branching | null;
  /**
   * Sees the top log-probs of every token of a segment and gives its step entropy; in place of
   * `branching`'s.
   */
  readonly watch?: (topLogProbs: readonly (readonly number[])[]) => number;
  /** Or why it cannot be built: every rollout of the group then fails with that reason. */
  readonly prompt: Int32Array | Error;
  /** Names the draws of the question; each branch adds its index. */
  readonly key: readonly DrawKey[];
  /** Prefix of its rollouts' ids: `<question id>/<phase>-<round>`, plus a name for a monitored one. */
  readonly owner: string;
  /** Every call made, in the order in which calls finish. */
  readonly toolCalls: ToolCall[];
}

/** False = the branch has ended and says how; nothing is held for it any more. */
export async function advanceBranch(growth: Growth, branch: Branch): Promise<boolean> {
  let goesOn = false;
  try {
    goesOn = await advanced(growth, branch);
    return goesOn;
  } finally {
    if (!goesOn) growth.options.tools.end?.(idOf(growth, branch));
  }
}

async function advanced(growth: Growth, branch: Branch): Promise<boolean> {
  const { clock } = growth.options;
  try {
    await begin(growth, branch);
    const finish = branch.world?.done ? 'stop' : await segment(growth, branch);
    if (finish === null) return true;
    branch.finish = finish;
  } catch (error) {
    if (growth.signal.aborted || hasCode(error, 'TOOL_BROKEN')) throw error;
    branch.finish = 'failed';
    branch.reason = messageOf(error);
  }
  branch.endedMs = clock.now();
  return false;
}

/** The context that a branch continues: the group's prompt, or its own. Throws if there is none. */
export function promptOf(growth: Growth, { prompt: own }: Branch): Int32Array {
  const prompt = own ?? growth.prompt;
  if (prompt instanceof Error) throw prompt;
  return prompt;
}

/** Begins the environment of a root, if its question has one: what it shows goes into the prompt. */
async function begin(growth: Growth, branch: Branch): Promise<void> {
  const { question, options, signal, toolCalls } = growth;
  if (branch.world !== null || !hasWorld(question)) return;
  const { call, world } = await beginWorld(options.tools, question, idOf(growth, branch), signal);
  toolCalls.push(call);
  branch.world = world;
  branch.prompt = options.dialect.prompt(questionIn(question.question, call.output));
}

function idOf({ owner }: Growth, { index }: Branch): string {
  return `${owner}/${index}`;
}

/** Generates one segment and runs the call it ends in. Null = the branch continues. */
async function segment(growth: Growth, branch: Branch): Promise<Finish | null> {
  const { options, key } = growth;
  const { engine, dialect } = options;
  const { branching } = growth;
  const prompt = promptOf(growth, branch);
  const room = Math.min(
    options.responseMax - branch.tokens.length,
    engine.contextMax - prompt.length - branch.tokens.length,
  );
  if (room < 1 && branch.tokens.length === 0) {
    throw new Error(
      `a prompt of ${prompt.length} tokens leaves no room in a context of ${engine.contextMax}`,
    );
  }
  if (room < 1) return 'length';
  const made = await engine.generate(
    {
      tokens: Int32Array.from([...prompt, ...branch.tokens]),
      maxTokens: room,
      ...samplingIn(options),
      ...(branch.last
        ? { stopTokens: endTokens(dialect.tokenizer) }
        : stopsOf(dialect, prompt, branch)),
      // The same draws would only write again what was undone.
      draws: [...key, branch.index, ...(branch.takenBack ? ['again'] : [])],
      ...logProbsOf(growth, room),
      priority: precedence(growth.question),
    },
    growth.signal,
  );
  const entropy =
    growth.watch?.(made.topLogProbs) ??
    branching?.stepEntropy(made.topLogProbs, dialect.tokenizer.vocabSize) ??
    null;
  appendGeneration(branch, made, entropy);
  branch.entropyFirst ??= entropy;
  branch.entropyLast = entropy ?? 0;
  if (made.finish === 'length') {
    // A generation cut short by the engine continues in the next round.
    const isShort = made.tokens.length > 0 && made.tokens.length < room;
    return isShort ? null : 'length';
  }
  if (branch.last) return 'callLimit';
  const turns = partsOf(branch, dialect).flatMap(({ author, text }) =>
    author === 'policy' ? [text] : [],
  );
  const stop = { token: made.tokens.at(-1)!, text: made.stopText ?? null };
  const turn = dialect.turn(turns, stop);
  if (typeof turn === 'string') return turn;
  nameTool(branch, namesOf(turn.calls));
  return callTools(growth, branch, turn.calls);
}

/** The top log-probs from which entropies are computed. */
function logProbsOf(
  { watch, branching }: Growth,
  room: number,
): Pick<GenerateRequest, 'topLogProbs' | 'logProbsPerToken'> {
  if (watch !== undefined) return { topLogProbs: room, logProbsPerToken: LOG_PROBS_PER_TOKEN };
  const { entropyTokens: topLogProbs = 0, logProbsPerToken } = branching ?? {};
  return { topLogProbs, ...(logProbsPerToken === undefined ? {} : { logProbsPerToken }) };
}

/** What ends a generation; a stop text may begin in the turn so far. */
export function stopsOf(
  { stopTokens, stopTexts }: Dialect,
  prompt: Int32Array,
  branch: Branch,
): Pick<GenerateRequest, 'stopTokens' | 'stopTexts' | 'stopTextsFrom'> {
  if (stopTexts.length === 0) return { stopTokens };
  return { stopTokens, stopTexts, stopTextsFrom: prompt.length + turnStart(branch) };
}

/** The tools that a turn calls, one name per call, as in its segments; `?` for a call that names none. */
function namesOf(calls: readonly DialectCall[]): string {
  return calls.map(({ tool }) => tool || '?').join(',');
}

/** The tools of the calls answered so far. */
function answeredBy({ segments }: Branch): string[] {
  return segments.flatMap(({ kind, tool }) => (kind === 'tool' ? (tool ?? '').split(',') : []));
}

/**
 * Runs the calls of a turn, one after the other, and appends their results. The limit counts empty calls too.
 */
async function callTools(
  growth: Growth,
  branch: Branch,
  calls: readonly DialectCall[],
): Promise<Finish | null> {
  const { options } = growth;
  const { toolLimit = () => Number.POSITIVE_INFINITY } = options;
  const before = answeredBy(branch);
  const made: string[] = [];
  const outputs: string[] = [];
  for (const call of calls) {
    if (branch.calls >= options.callLimit) return 'callLimit';
    const answered = [...before, ...made].filter((tool) => tool === call.tool).length;
    branch.last = answered >= toolLimit(call.tool);
    if (branch.last) break;
    branch.calls++;
    const output = await answerTo(growth, branch, call);
    if (output === 'empty') return 'stop';
    if (output === 'taken back') return null;
    outputs.push(output.text);
    made.push(call.tool);
  }
  if (outputs.length > 0) {
    const names = branch.made.splice(0).join(',');
    appendResult(branch, options.dialect.results(outputs), names, options.responseMax);
    if (branch.world?.done) return 'stop';
    await refined(growth, branch, callsOf(growth, branch));
  }
  return branch.tokens.length >= options.responseMax ? 'length' : null;
}

/** What the policy reads of its call. */
async function answerTo(
  growth: Growth,
  branch: Branch,
  { tool, input, fault }: DialectCall,
): Promise<{ readonly text: string } | 'empty' | 'taken back'> {
  if (fault !== undefined || input === '') {
    branch.turns++;
    branch.made.push(tool || '?');
    return fault === undefined ? 'empty' : { text: fault };
  }
  const calls = callsOf(growth, branch);
  const { output, ok } = await calls.make(tool, input);
  const text = ok ? output : await helped(growth, branch, { tool, input, output }, calls);
  return text === null ? 'taken back' : { text };
}

/** The calls of a branch, each a record of its own. */
function callsOf({ options, question, owner, signal, toolCalls }: Growth, branch: Branch): Calls {
  const rolloutId = `${owner}/${branch.index}`;
  const place = (tool: string) => {
    branch.made.push(tool);
    return { rolloutId, turn: branch.turns++ };
  };
  const record = (
    call: Pick<ToolCall, 'rolloutId' | 'turn' | 'tool' | 'input'>,
    how: Called,
  ): void => {
    const made: ToolCall = { ...call, questionId: question.id, ...how };
    toolCalls.push(made);
    if (branch.world !== null) branch.world = steppedBy(branch.world, made);
  };
  return {
    get id() {
      return `${rolloutId}#${branch.turns}`;
    },
    async make(tool, input) {
      const origin = place(tool);
      const trajectory = () => options.dialect.read(partsOf(branch, options.dialect));
      const { files } = question.task ?? {};
      const situation = {
        ...{ ...origin, trajectory },
        ...(files ? { files } : {}),
        ...(branch.world === null ? {} : { past: branch.world.steps }),
      };
      const called = await options.tools.call(tool, input, signal, situation);
      record({ ...origin, tool, input }, called);
      return called;
    },
    note(tool, input) {
      record({ ...place(tool), tool, input }, NOTED);
    },
  };
}

const NOTED: Called = { output: '', ok: true, attempts: 0, cached: false, ms: 0 };
