/**
 * The vocabulary of domain operators: pure functions in, operators on deliveries out.
 *
 * `mapEach` one to one, `expandEach` one to many, `keepIf` one or none, `pipeEach` any RxJS operator on one
 * record, `gatherBy` many to one. They own the settlement, so a domain function never sees a delivery: it
 * gets the value and a `Scope`, through which it writes side records and learns that its result is no longer
 * wanted (`signal`) or that the run is stopping (`stopping`).
 *
 * A record whose function throws is poison: it becomes a dead letter and is dropped, and the stage goes on
 * (`onError: 'deadLetter'`), or the throw is the stage's end (`'fail'`). One exception: a function that has
 * not begun when the run stops throws code `NOT_NOW` (`stopping.ts`); its record stays unsettled for the next
 * start.
 */
import type { OperatorFunction } from 'rxjs';
import { calling, type Each } from './deliveries/calls.ts';
import type { Delivery } from './deliveries/delivery.ts';
import type { EachOptions } from './deliveries/scope.ts';

export { type GatherOptions, gatherBy, gatherCount } from './deliveries/gatherBy.ts';
export { type EachOperator, type PipeOptions, pipeEach } from './deliveries/pipeEach.ts';
export type { EachOptions, Scope } from './deliveries/scope.ts';

/**
 * One in, one out.
 *
 *     mapEach((order, scope) => { scope.also(mails, receiptOf(order)); return priced(order); }, {
 *     concurrency: 4 })
 */
export function mapEach<In, Out>(
  fn: Each<In, Out>,
  options: EachOptions,
): OperatorFunction<Delivery<In>, Delivery<Out>> {
  return calling(fn, options, (delivery, result) => [delivery.derive(result)]);
}

/** One in, any number out, committed together. None = dropped. */
export function expandEach<In, Out>(
  fn: Each<In, readonly Out[]>,
  options: EachOptions,
): OperatorFunction<Delivery<In>, Delivery<Out>> {
  return calling(fn, options, (delivery, results) => delivery.split(results));
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
