/**
 * One step of one branch: a segment is generated, and the tool call that it ends in is run and its result
 * appended (ARPO reference §1.5, steps 1 to 5, per question).
 *
 * A step never rejects but when the signal aborts: what goes wrong ends the branch with its reason.
 */
import type { DrawKey } from '../../base/draws.ts';
import type { Tokenizer } from '../../model/engine.ts';
import { samplingIn } from '../../model/sampling.ts';
import type { Finish, Question, ToolCall } from '../../streams/records.ts';
import { lastCallInput } from '../dialect/calls.ts';
import { resultTokens } from '../dialect/resultBlock.ts';
import type { Branching } from '../sampling/branching.ts';
import { appendGeneration, appendResult, type Branch } from './branch.ts';
import type { RolloutOptions } from './options.ts';
import { precedence } from './precedence.ts';

/** What the branches of one question share. */
export interface Growth {
  readonly question: Question;
  readonly options: RolloutOptions;
  readonly signal: AbortSignal;
  readonly branching: Branching | null;
  /** Sees the top log-probs of every token of a segment and gives its step entropy; in the place of `branching`'s. */
  readonly watch?: (topLogProbs: readonly (readonly number[])[]) => number;
  /** Or why it cannot be made: then every rollout of the group fails with that reason. */
  readonly prompt: Int32Array | Error;
  /** Names the draws of the question; each branch adds its index. */
  readonly key: readonly DrawKey[];
  /** What its rollouts are called after: `<question id>/<phase>-<stage>`, and of a monitored one a name more. */
  readonly owner: string;
  /** Every call that is made, in the order in which calls finish. */
  readonly toolCalls: ToolCall[];
}

/** False = the branch has ended, and says how. */
export async function advanceBranch(growth: Growth, branch: Branch): Promise<boolean> {
  const { clock } = growth.options;
  try {
    const finish = await segment(growth, branch);
    if (finish === null) return true;
    branch.finish = finish;
  } catch (error) {
    if (growth.signal.aborted) throw error;
    branch.finish = 'failed';
    branch.reason = error instanceof Error ? error.message : String(error);
  }
  branch.endedMs = clock.now();
  return false;
}

/** Generates one segment and runs the call it ends in. Null = the branch goes on. */
async function segment(growth: Growth, branch: Branch): Promise<Finish | null> {
  const { prompt, options, key } = growth;
  const { engine, tokenizer, tools } = options;
  const { branching } = growth;
  if (prompt instanceof Error) throw prompt;
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
      stopTokens: [tokenizer.endToken, ...tools.stopTokens],
      draws: [...key, branch.index],
      topLogProbs: growth.watch === undefined ? (branching?.entropyTokens ?? 0) : room,
      priority: precedence(growth.question),
    },
    growth.signal,
  );
  const entropy =
    growth.watch?.(made.topLogProbs) ??
    branching?.stepEntropy(made.topLogProbs, tokenizer.vocabSize) ??
    null;
  const tool = made.finish === 'stop' ? tools.tagOf(made.tokens.at(-1)!) : null;
  appendGeneration(branch, made, entropy, tool);
  branch.entropyFirst ??= entropy;
  branch.entropyLast = entropy ?? 0;
  if (made.finish === 'length') {
    // What an engine cuts short goes on in the next round.
    const isShort = made.tokens.length > 0 && made.tokens.length < room;
    return isShort ? null : 'length';
  }
  if (tool === null) {
    return hasAnswered(branch, tokenizer) ? 'answer' : 'stop';
  }
  return callTool(growth, branch, tool, policyTexts(branch, tokenizer).at(-1)!);
}

/** Whether the policy itself closed an answer; what a tool wrote does not count. */
function hasAnswered(branch: Branch, tokenizer: Tokenizer): boolean {
  return policyTexts(branch, tokenizer).some((text) => text.includes('</answer>'));
}

/** What the policy wrote between one result and the next; segments that go on in the middle of a step are one text. */
function policyTexts({ tokens, segments }: Branch, tokenizer: Tokenizer): string[] {
  const spans: { start: number; end: number }[] = [];
  for (const { kind, start, end } of segments) {
    const last = spans.at(-1);
    if (kind !== 'policy') continue;
    if (last?.end === start) last.end = end;
    else spans.push({ start, end });
  }
  return spans.map(({ start, end }) => tokenizer.decode(tokens.slice(start, end)));
}

/** Runs the call that `text` ends in and appends its result. The limit counts empty calls too. */
async function callTool(
  growth: Growth,
  branch: Branch,
  tool: string,
  text: string,
): Promise<Finish | null> {
  const { options, question } = growth;
  if (branch.calls >= options.callLimit) return 'callLimit';
  const turn = branch.calls++;
  const input = lastCallInput(text, tool);
  if (input === '') return 'stop';
  const origin = { rolloutId: `${growth.owner}/${branch.index}`, turn };
  const called = await options.tools.call(tool, input, growth.signal, origin);
  growth.toolCalls.push({
    ...origin,
    questionId: question.id,
    tool,
    input,
    ...called,
  });
  appendResult(branch, resultTokens(options.tokenizer, called.output), tool, options.responseMax);
  return branch.tokens.length >= options.responseMax ? 'length' : null;
}

export function ownerOf({ id, phase, stage }: Question): string {
  return `${id}/${phase}-${stage}`;
}
