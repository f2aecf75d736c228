/**
 * Success and path of DeepAgent's benchmarks, as far as no judge decides them (§4.3), each from the recorded
 * calls of one episode. ToolBench has its path alone: its success is a judge's.
 */
import { isDeepStrictEqual } from 'node:util';
import { type GoldCall, subgoalPattern } from '../../rewards/toolPo/callCredit.ts';
import { endpointOf } from '../../rewards/toolPo/endpoints.ts';
import { deepAgentAnswer } from './boxed.ts';
import { type PathScore, type RecordedCall, shareOf } from './recorded.ts';

type Calls = readonly Pick<RecordedCall, 'name' | 'arguments' | 'response'>[];
type Named = readonly Pick<RecordedCall, 'name'>[];
type Answered = readonly Pick<RecordedCall, 'response'>[];

/**
 * ToolBench's path: share of the gold functions that were called. Names as the tools have them
 * (`functionName`).
 */
export function toolBenchPath(calls: Named, gold: readonly string[]): number {
  const called = new Set(calls.map(({ name }) => name));
  return shareOf([...new Set(gold)], (name) => called.has(name));
}

/** API-Bank: gold calls with equal name and arguments, each matched by one call, in any order. */
export function apiBank(
  calls: readonly Pick<RecordedCall, 'name' | 'arguments'>[],
  gold: readonly GoldCall[],
): PathScore & { readonly matched: number } {
  const left = [...calls];
  const matched = gold.filter((wanted) => {
    const at = left.findIndex(
      (call) => call.name === wanted.name && isDeepStrictEqual(call.arguments, wanted.arguments),
    ); // the first that fits: equal calls are interchangeable, so no other choice matches more
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  }).length;
  const path = gold.length === 0 ? 1 : matched / gold.length;
  return { success: path === 1 ? 1 : 0, path, matched };
}

/** The path of a set of API-Bank questions: matched calls of all over gold calls of all. */
export function apiBankPath(
  questions: readonly { readonly matched: number; readonly gold: number }[],
): number {
  const gold = questions.reduce((sum, one) => sum + one.gold, 0);
  return gold === 0 ? 1 : questions.reduce((sum, one) => sum + one.matched, 0) / gold;
}

/** RestBench (TMDB, Spotify): share of the gold endpoints that were used; the answer does not count. */
export function restBench(used: readonly string[], gold: readonly string[]): PathScore {
  const called = new Set(used);
  const path = shareOf([...new Set(gold)], (endpoint) => called.has(endpoint));
  return { success: path === 1 ? 1 : 0, path };
}

/** ToolHop: the boxed answer against gold, and the share of sub-answers that occur in some tool's result. */
export function toolHop(
  output: string,
  calls: Answered,
  gold: { readonly answer: string; readonly subAnswers: readonly string[] },
): PathScore {
  const said = deepAgentAnswer(output, 'last');
  const same = said !== null && plain(said) === plain(gold.answer);
  const path = shareOf(gold.subAnswers, (sub) => calls.some((call) => call.response.includes(sub)));
  return { success: same ? 1 : 0, path };
}

/** ALFWorld: whether the environment was done, and the share of subgoals that some result shows. */
export function alfWorld(done: boolean, calls: Answered, subgoals: readonly string[]): PathScore {
  const shown = calls.map(({ response }) => response.toLowerCase());
  const path = shareOf(subgoals.map(subgoalPattern), (goal) => shown.some((one) => goal.test(one)));
  return { success: done ? 1 : 0, path };
}

/** WebShop: whether the right thing was bought, and the reward itself, whose mean is the score. */
export function webShop(reward: number): { readonly success: number; readonly score: number } {
  // Rewards of many steps add up to 1 only as exactly as sums of fractions can.
  return { success: reward >= 1 - 1e-9 ? 1 : 0, score: reward };
}

function plain(text: string): string {
  return text.trim().toLowerCase();
}

/** What RestBench counts as used: the endpoint that a call of one of its tools names. */
export function endpointsUsed(calls: Calls, endpoints: readonly string[]): string[] {
  return calls.flatMap((call) => endpointOf(call, endpoints) ?? []);
}
