/**
 * `demonstrations`: the quality filter. A question's pool of evolved trajectories in, those worth imitating
 * out.
 *
 * A trajectory is kept when its answer is right, it is well-formed, every call in it worked, it calls tools
 * seldom enough, and no other says the same (ET-Agent §5); of those, at most `perQuestion`, best first. Every
 * other one is listed with the first reason against it: `wrong`, `malformed: <fault>`, `result without a
 * call` (made up, not a tool's), `chat marker`, `failed call`, `<n> calls`, `same as <index>`, `not among the
 * best`. A question of which nothing is kept gives a record too. Form and hints are read in what the policy
 * wrote, never in results.
 *
 * A method may add what it finds in a pool as a whole: how hard the question is, and more reasons (`find`).
 */

import { type OperatorFunction, pipe } from 'rxjs';
import { counted } from '../base/text/index.ts';
import type { Delivery } from '../streams/deliveries/index.ts';
import { gatherBy, mapEach } from '../streams/index.ts';
import { asked, type Demonstration, type Demonstrations, type Evolved } from '../topics/index.ts';
import type { CallTool } from './callTools.ts';
import { chatFence } from './dialect/fence.ts';
import { formatFault } from './dialect/format.ts';
import { repairHintPosition } from './dialect/repair.ts';
import {
  isFailedResult,
  mapResults,
  resultBlocks,
  resultsFollowCalls,
  withEmptyResults,
} from './dialect/results.ts';
import type { Hints } from './evolve/hints.ts';
import { defaultHints } from './evolve/hints.ts';
import type { FormOf } from './rewards/reward.ts';
import { strip } from './text/characters.ts';

/** Negative when `a` is the better demonstration. */
export type DemonstrationOrder = (a: Demonstration, b: Demonstration) => number;

/** Which trajectories of a pool become demonstrations. */
export interface DemonstrationsOptions {
  /** The tools of the job. */
  readonly tools: Pick<CallTool, 'tags'>;
  /** Finds faults of form in the policy's dialect (`Dialect.formatFault`); left out = in the papers' tags. */
  readonly formatFault?: FormOf;
  /**
   * Limit of those kept per question (default 1, so that easy questions, of which most are right, do not
   * crowd out the others).
   */
  readonly perQuestion?: number;
  /**
   * Which to keep (default `fewestCalls`: fine-tuning should show that calls are made for a reason). Ties:
   * the shorter text, then the older one.
   */
  readonly prefer?: keyof typeof demonstrationOrders | DemonstrationOrder;
  /** Limit of tool calls (default: none). */
  readonly callsMax?: number;
  /** The flywheel's hints: in a malformed trajectory the thinking tags around them are repaired. */
  readonly hints?: Hints;
  /** A method's findings on the whole pool, in order (default: no difficulty, no further reasons). */
  readonly find?: (pool: readonly Evolved[], tools: readonly string[]) => PoolFindings;
  /** Limit of questions whose pool is incomplete. */
  readonly openMax: number;
}

/** A method's findings on the pool of one question. */
export interface PoolFindings {
  /** The method's class of the question; '' if it has none. */
  readonly difficulty: string;
  /** The reason against a trajectory without other faults; null if there is none. */
  readonly against: (evolved: Evolved) => string | null;
}

const nothing: PoolFindings = { difficulty: '', against: () => null };

/** Orders of a question's demonstrations, best first, by the names of the setting `prefer`. */
export const demonstrationOrders = {
  fewestCalls: (a, b) => a.toolCalls - b.toolCalls,
  /** The one evolved longest. */
  latestRound: (a, b) => b.round - a.round,
  /** The one closest to what the policy would do on its own. */
  earliestRound: (a, b) => a.round - b.round,
  shortest: (a, b) => a.text.length - b.text.length,
} as const satisfies Readonly<Record<string, DemonstrationOrder>>;

/** evolved → demonstrations, one record per question. `openMax` pools must fit in flight. */
export function demonstrations(
  options: DemonstrationsOptions,
): OperatorFunction<Delivery<Evolved>, Delivery<Demonstrations>> {
  return pipe(
    gatherBy<Evolved>({
      key: ({ question }) => asked(question),
      size: ({ of }) => of,
      openMax: options.openMax,
    }),
    mapEach((pool) => filterPool(pool, options), { concurrency: 1, onError: 'fail' }),
  );
}

type Dropped = Demonstrations['dropped'][number];

/** The filter on one pool, in any order. */
export function filterPool(
  pool: readonly Evolved[],
  options: Omit<DemonstrationsOptions, 'openMax'>,
): Demonstrations {
  const { perQuestion = 1, prefer = 'fewestCalls', hints = defaultHints } = options;
  const tools = options.tools.tags;
  const preference = typeof prefer === 'function' ? prefer : demonstrationOrders[prefer];
  const members = [...pool].sort((a, b) => a.index - b.index);
  const { difficulty, against } = options.find?.(members, tools) ?? nothing;
  const form: FormOf =
    options.formatFault ?? ((text, variant) => formatFault(text, variant, tools));
  const dropped: Dropped[] = [];
  const good: Demonstration[] = [];
  const seen = new Map<string, number>();
  for (const evolved of members) {
    const { index, round, action, toolCalls, question } = evolved;
    const text = repaired(evolved.text, hints[question.ability], form);
    const same = seen.get(strip(text));
    const why =
      fault(evolved, text, options, form) ??
      against(evolved) ??
      (same === undefined ? null : `same as ${same}`);
    if (why === null) {
      seen.set(strip(text), index);
      good.push({ index, round, action, toolCalls, text, turns: [], functions: '' });
    } else dropped.push({ index, why });
  }
  const best = good.sort(
    (a, b) => preference(a, b) || a.text.length - b.text.length || a.index - b.index,
  );
  const kept = best.slice(0, perQuestion);
  const rest = best.slice(perQuestion).map(({ index }) => ({ index, why: 'not among the best' }));
  return {
    question: members[0]!.question,
    difficulty,
    kept,
    dropped: [...dropped, ...rest].sort((a, b) => a.index - b.index),
    version: Math.max(...members.map(({ version }) => version)),
  };
}

/**
 * Repairs only what is malformed, and only if that helps: a hint may also be the policy talking to itself. A
 * hint in a result does not count.
 */
function repaired(text: string, hints: readonly string[], form: FormOf): string {
  const own = withEmptyResults(text);
  if (form(own, 'selection') === null) return text;
  const better = hints.reduce((so, hint) => repairHintPosition(so, hint), own);
  if (form(better, 'selection') !== null) return text;
  const results = resultBlocks(text);
  return mapResults(better, (_, place) => results[place]!);
}

/** The first reason against a trajectory; null if there is none. */
function fault(
  { action, correct, toolCalls, text: original }: Evolved,
  text: string,
  { callsMax = Number.POSITIVE_INFINITY, tools }: Pick<DemonstrationsOptions, 'callsMax' | 'tools'>,
  form: FormOf,
): string | null {
  if (action === 'failed') return `failed: ${original}`;
  if (!correct) return 'wrong';
  const own = withEmptyResults(text);
  const malformed = form(own, 'selection');
  if (malformed !== null) return `malformed: ${malformed}`;
  if (!resultsFollowCalls(text, tools.tags)) return 'result without a call';
  if (chatFence(own) !== own) return 'chat marker';
  if (resultBlocks(text).some((result) => isFailedResult(strip(result)))) return 'failed call';
  return toolCalls > callsMax ? counted(toolCalls, 'call') : null;
}
