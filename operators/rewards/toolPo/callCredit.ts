/**
 * Which tool calls of an episode were right (DeepAgent §3.3, C). The method does not say what right is; here
 * it is decided without a model:
 *
 * 1. the call can be read, the tool was offered, the arguments fit its schema, and the tool did not answer
 *    with an error;
 * 2. if the question has gold, the call must also bring something of it that no call before it has
 *    brought.
 */
import { isDeepStrictEqual } from 'node:util';
import type { EpisodeCall } from '../../deepAgent/episode.ts';
import { isErrorResponse } from '../../tools/errorResponse.ts';
import { endpointOf } from './endpoints.ts';

/** A call as the episode recorded it. */
export type CreditedCall = Omit<EpisodeCall, 'span'>;

/** A call that the question's gold has. */
export interface GoldCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The gold of a question: what answers it. */
export type CallGold =
  /** Each of these tools, once (ToolBench). */
  | { readonly kind: 'tools'; readonly tools: readonly string[] }
  /** Each of these endpoints (`GET /movie/{movie_id}`), by its function or by its name, once (RestBench). */
  | { readonly kind: 'endpoints'; readonly endpoints: readonly string[] }
  /** Each of these calls, with equal arguments, once (API-Bank). */
  | { readonly kind: 'calls'; readonly calls: readonly GoldCall[] }
  /** Responses that hold one of these that no response before held (ToolHop). */
  | { readonly kind: 'answers'; readonly answers: readonly string[] }
  /** Responses that one of these patterns fits that fitted none before, in lower case (ALFWorld). */
  | { readonly kind: 'patterns'; readonly patterns: readonly string[] };

/** Whether a call was right; otherwise the first rule that it broke. */
export type CallVerdict = 'correct' | 'unreadable' | 'notOffered' | 'fault' | 'failed' | 'notGold';

/** A verdict on each call, in order. */
export function callVerdicts(
  calls: readonly CreditedCall[],
  gold: CallGold | null,
): readonly CallVerdict[] {
  const brings = gold === null ? () => true : goldOf(gold);
  return calls.map((call) => {
    const broken = brokenRule(call);
    if (broken !== null) return broken;
    return brings(call) ? 'correct' : 'notGold';
  });
}

function brokenRule({ name, arguments: given, ok, offered, fault, response }: CreditedCall) {
  if (name === null || given === null) return 'unreadable';
  if (!offered) return 'notOffered';
  if (fault !== '') return 'fault';
  return ok && !isErrorResponse(response) ? null : 'failed';
}

/** Whether a call matches gold that no earlier call has matched; called once per call, in order. */
function goldOf(gold: CallGold): (call: CreditedCall) => boolean {
  switch (gold.kind) {
    case 'tools':
      return oneByOne([...new Set(gold.tools)], (tool, { name }) => tool === name);
    case 'endpoints':
      return oneByOne(
        [...new Set(gold.endpoints)],
        (endpoint, { name, arguments: given }) =>
          endpointOf({ name: name!, arguments: given! }, [endpoint]) === endpoint,
      );
    case 'calls':
      return oneByOne(
        gold.calls,
        (wanted, { name, arguments: given }) =>
          wanted.name === name && isDeepStrictEqual(wanted.arguments, given),
      );
    case 'answers':
      return all(gold.answers, (answer, { response }) => response.includes(answer));
    case 'patterns': {
      const patterns = gold.patterns.map(subgoalPattern);
      return all(patterns, (pattern, { response }) => pattern.test(response.toLowerCase()));
    }
    default:
      throw new Error(`unknown gold '${(gold satisfies never as { kind: string }).kind}'`);
  }
}

/** A subgoal of ALFWorld as compared: in lower case, anywhere in the text. */
export function subgoalPattern(pattern: string): RegExp {
  return new RegExp(pattern.toLowerCase());
}

type Fits<T> = (item: T, call: CreditedCall) => boolean;

/** A call takes the first item that it fits. */
function oneByOne<T>(items: readonly T[], fits: Fits<T>): (call: CreditedCall) => boolean {
  const left = [...items];
  return (call) => {
    const found = left.findIndex((item) => fits(item, call));
    if (found >= 0) left.splice(found, 1);
    return found >= 0;
  };
}

/** A call takes every item that it fits. */
function all<T>(items: readonly T[], fits: Fits<T>): (call: CreditedCall) => boolean {
  let left = [...items];
  return (call) => {
    const rest = left.filter((item) => !fits(item, call));
    const brought = rest.length < left.length;
    left = rest;
    return brought;
  };
}
