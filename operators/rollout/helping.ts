/**
 * Tool-Star's help at inference (ARPO reference §4.5), which a rollout may have, each once:
 *
 * - the debugger, a model, mends a program that failed; what the mended program gives is the result of the
 *   call, right or wrong;
 * - the back-tracer, a rule, takes a failed program back to the thought before it, and the policy goes on
 *   from there; not where a debugger has been asked about the call;
 * - the refiner, a model, rewrites a response that has become long as one thought, and the policy goes on
 *   from that.
 *
 * Whatever they do is a record of `tool-calls` under their names, so a replay asks none of them.
 */
import { MillraceError } from '../../base/index.ts';
import type { Question } from '../../topics/index.ts';
import type { Dialect } from '../dialect/dialect.ts';
import { fenceFor } from '../dialect/fence.ts';
import { strip } from '../text/characters.ts';
import type { Called } from '../tools/callTool.ts';
import { beforeCall } from './backTrace.ts';
import { type Branch, cutBack, partsOf, REFINER, replaceBy, turnStart } from './branch.ts';

/** Who helps. */
export interface Helping {
  readonly debugger: boolean;
  /** How far it goes back: to the end of a sentence or of a line (`beforeCall`). */
  readonly backTracer: 'off' | 'sentence' | 'line';
  /** Refine a response once prompt and response have this many tokens; null = never. */
  readonly refineFrom: number | null;
}

/** What a helper sees of a question's rollouts. */
interface Helped {
  readonly question: Question;
  readonly options: { readonly helping?: Helping | undefined; readonly dialect: Dialect };
  readonly prompt: Int32Array | Error;
}

/** The tool whose programs are repaired and undone. */
const PYTHON = 'python';
/** The names of the helpers' records. */
export const DEBUGGER = 'debugger';
export const BACK_TRACER = 'back-tracer';
export { REFINER };

/** The debugger's input. */
export interface DebugRequest {
  /** `<rollout>#<turn>`: names its draws. */
  readonly id: string;
  readonly code: string;
  readonly error: string;
}

/** The refiner's input. */
export interface RefineRequest {
  readonly id: string;
  readonly question: string;
  readonly chain: string;
}

/** Makes the calls of a branch and keeps their records. */
export interface Calls {
  /** Of the next record: `<rollout>#<turn>`. */
  readonly id: string;
  make(tool: string, input: string): Promise<Called>;
  /** The record of something done without asking anybody. */
  note(tool: string, input: string): void;
}

/** What a job's rollouts share, and how far they may lag. */
export interface HelpingPlace {
  readonly branching: 'none' | 'rounds' | 'guided';
  readonly lagMax: number;
}

/** Fails with `USAGE` if rollouts cannot have this help. */
export function checkHelping(helping: Helping, { branching, lagMax }: HelpingPlace): void {
  const mends = helping.debugger ? ['roles.debugger'] : [];
  const cuts = [
    ...(helping.backTracer === 'off' ? [] : ['roles.backTracer']),
    ...(helping.refineFrom === null ? [] : ['roles.refiner']),
  ];
  const refuse = (names: readonly string[], needed: string, why: string): void => {
    if (names.length === 0) return;
    throw new MillraceError('USAGE', `${names.join(', ')}: only with ${needed}, because ${why}`);
  };
  if (branching === 'guided')
    refuse([...mends, ...cuts], 'branching=none', 'guided branches begin inside a step');
  if (branching === 'rounds') refuse(cuts, 'branching=none', 'branches share what would be undone');
  if (lagMax > 0) refuse(cuts, 'lagMax=0', 'the versions of what is undone are not in the record');
}

/** The fate of a failed program: the text that the policy reads, or null if the program was undone. */
export async function helped(
  { options }: Helped,
  branch: Branch,
  failed: { readonly tool: string; readonly input: string; readonly output: string },
  calls: Calls,
): Promise<string | null> {
  const { helping, dialect } = options;
  if (helping === undefined || failed.tool !== PYTHON) return failed.output;
  if (helping.debugger && !branch.debugged) {
    branch.debugged = true;
    const request: DebugRequest = { id: calls.id, code: failed.input, error: failed.output };
    const { output: mended, ok } = await calls.make(DEBUGGER, JSON.stringify(request));
    return ok ? (await calls.make(PYTHON, mended)).output : failed.output;
  }
  if (helping.backTracer === 'off' || branch.takenBack) return failed.output;
  branch.takenBack = true;
  const from = turnStart(branch);
  const own = branch.tokens.slice(from);
  const text = dialect.tokenizer.decode(own);
  const kept = beforeCall(text, PYTHON, helping.backTracer);
  cutBack(branch, from + tokensWithin(own, kept, (tokens) => dialect.tokenizer.decode(tokens)));
  calls.note(BACK_TRACER, text.slice(kept.length));
  return null;
}

/** The most of these tokens whose text is a beginning of `text`. */
function tokensWithin(
  tokens: readonly number[],
  text: string,
  decode: (tokens: readonly number[]) => string,
): number {
  let [low, high] = [0, tokens.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (decode(tokens.slice(0, middle)).length <= text.length) low = middle;
    else high = middle - 1;
  }
  // An incomplete character decodes to something else.
  while (low > 0 && !text.startsWith(decode(tokens.slice(0, low)))) low--;
  return low;
}

/** Refines a response that has become long. One that would not become shorter stays. */
export async function refined(
  { options, question, prompt }: Helped,
  branch: Branch,
  calls: Calls,
): Promise<void> {
  const { helping, dialect } = options;
  if (helping?.refineFrom == null || branch.refined || prompt instanceof Error) return;
  if (prompt.length + branch.tokens.length < helping.refineFrom) return;
  branch.refined = true;
  const chain = dialect.read(partsOf(branch, dialect));
  const request: RefineRequest = { id: calls.id, question: question.question, chain };
  const { output, ok } = await calls.make(REFINER, JSON.stringify(request));
  const { tools, tokenizer } = dialect;
  const thought = strip(fenceFor({ tools, markers: tokenizer.markers ?? [] })(output));
  if (!ok || thought === '') return;
  const tokens = dialect.continuation(`<think>${thought}</think>`);
  if (tokens.length < branch.tokens.length) replaceBy(branch, tokens);
}
