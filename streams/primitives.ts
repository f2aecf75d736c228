/**
 * The vocabulary of domain operators: pure functions in, operators on deliveries out.
 *
 * `mapEach` one to one, `expandEach` one to many, `keepIf` one or none, `gatherBy` many to one. They own
 * the settlement, so a domain function never sees a delivery: it gets the value and a `Scope`, through
 * which it writes side records and learns that it is no longer wanted.
 *
 * A record whose function throws is poison: it becomes a dead letter and is dropped, and the stage goes
 * on (`onError: 'deadLetter'`), or the throw is the stage's end (`'fail'`). One exception: a function that
 * is told to stop before it began throws code `NOT_NOW`; its record stays unsettled for the next start.
 */
import { mergeMap, Observable, type OperatorFunction } from 'rxjs';
import { deadLetterOf } from './deadLetter.ts';
import type { Aside, Delivery } from './delivery.ts';
import { hasCode } from './errors.ts';
import type { Position } from './records.ts';
import { park } from './settlement.ts';
import type { Topic } from './topic.ts';
import { topics } from './topics.ts';

export { type GatherOptions, gatherBy, gatherCount } from './gatherBy.ts';

/** What a domain function may do besides returning its value. */
export interface Scope {
  /** Where its record lies. */
  readonly topic: string;
  readonly position: Position;
  readonly key: string;
  /** Aborted when the stage no longer wants the result. */
  readonly signal: AbortSignal;
  /** Append a side record (tool call, metric, dead letter) in the commit of what this call returns. */
  also<T>(topic: Topic<T>, value: T): void;
}

export interface EachOptions {
  /** Most calls that run at once. Results come in the order in which they are finished. */
  readonly concurrency: number;
  readonly onError?: 'deadLetter' | 'fail';
}

type Each<In, Out> = (value: In, scope: Scope) => Promise<Out> | Out;
type Finish<Out, To> = (delivery: Delivery<unknown>, result: Out) => readonly Delivery<To>[];

/**
 * One in, one out.
 *
 *     mapEach((rollout, scope) => { scope.also(topics.metrics, tokens(rollout)); return score(rollout); }, { concurrency: 4 })
 */
export function mapEach<In, Out>(
  fn: Each<In, Out>,
  options: EachOptions,
): OperatorFunction<Delivery<In>, Delivery<Out>> {
  return each(fn, options, (delivery, result) => [delivery.derive(result)]);
}

/** One in, any number out, committed together. None = dropped. */
export function expandEach<In, Out>(
  fn: Each<In, readonly Out[]>,
  options: EachOptions,
): OperatorFunction<Delivery<In>, Delivery<Out>> {
  return each(fn, options, (delivery, results) => delivery.split(results));
}

/** Lets a record pass when `predicate` says so; otherwise it is settled without an output. */
export function keepIf<In>(
  predicate: Each<In, boolean>,
  options: Partial<EachOptions> = {},
): OperatorFunction<Delivery<In>, Delivery<In>> {
  const verdict: Each<In, readonly In[]> = (value, scope) => {
    const keep = predicate(value, scope);
    return keep instanceof Promise
      ? keep.then((kept) => (kept ? [value] : []))
      : keep
        ? [value]
        : [];
  };
  return expandEach(verdict, { concurrency: 1, ...options });
}

function each<In, Out, To>(
  fn: Each<In, Out>,
  options: EachOptions,
  finish: Finish<Out, To>,
): OperatorFunction<Delivery<In>, Delivery<To>> {
  return mergeMap((delivery) => attempt(delivery, fn, options, finish), options.concurrency);
}

/** One call of `fn`: its results, nothing (dropped or dead), or an error. */
function attempt<In, Out, To>(
  delivery: Delivery<In>,
  fn: Each<In, Out>,
  options: EachOptions,
  finish: Finish<Out, To>,
): Observable<Delivery<To>> {
  return new Observable((subscriber) => {
    /** Made when it is asked for: most functions never do, and it costs more than all the rest here. */
    let abort: AbortController | null = null;
    const asides: Aside[] = [];
    let running = true;
    let dropped = false;
    const laden = (): Delivery<unknown> =>
      asides.reduce<Delivery<unknown>>((on, { topic, value }) => on.also(topic, value), delivery);
    const succeed = (result: Out): void => {
      running = false;
      if (subscriber.closed) return;
      for (const part of finish(laden(), result)) subscriber.next(part);
      subscriber.complete();
    };
    const fail = (error: unknown): void => {
      running = false;
      if (subscriber.closed) return;
      if (hasCode(error, 'NOT_NOW')) {
        park(delivery);
        subscriber.complete();
        return;
      }
      if (options.onError === 'fail') {
        subscriber.error(error);
        return;
      }
      laden().also(topics.deadLetters, deadLetterOf(delivery, error)).drop();
      subscriber.complete();
    };
    const { topic, position, key } = delivery;
    const scope: Scope = {
      topic,
      position,
      key,
      get signal() {
        abort ??= new AbortController();
        if (dropped) abort.abort();
        return abort.signal;
      },
      also: (to, value) => void asides.push({ topic: to as Topic<unknown>, value }),
    };
    settleCall(fn, delivery.value, scope, succeed, fail);
    return () => {
      dropped = running;
      if (running) abort?.abort();
    };
  });
}

/** Calls `fn`; a plain result is delivered at once, a promised one when it is there. */
function settleCall<In, Out>(
  fn: Each<In, Out>,
  value: In,
  scope: Scope,
  succeed: (result: Out) => void,
  fail: (error: unknown) => void,
): void {
  let result: Promise<Out> | Out;
  try {
    result = fn(value, scope);
  } catch (error) {
    fail(error);
    return;
  }
  if (result instanceof Promise) result.then(succeed, fail);
  else succeed(result);
}
