/**
 * Calls of a domain function, one per delivery, a bounded number at once: what `mapEach`, `expandEach` and
 * `keepIf` are made of.
 *
 * It is `mergeMap` with the settlement built in: results in the order in which they are finished, what has no
 * place yet waits, an unsubscription aborts what runs. Written by hand because an Observable for every record
 * cost more than everything else that happens to a small one.
 */
import { Observable, type OperatorFunction, Subscriber } from 'rxjs';
import { hasCode } from '../../base/index.ts';
import { deadLetters } from '../deadLetters.ts';
import type { Position } from '../position.ts';
import type { Topic } from '../topic.ts';
import { deadLetterOf } from './deadLetter.ts';
import type { Delivery, SideRecord } from './delivery.ts';
import type { EachOptions, Scope } from './scope.ts';
import { ownerOf, setState, stoppingOf } from './settlement.ts';

export type Each<In, Out> = (value: In, scope: Scope) => Promise<Out> | Out;
type Called<In, Out> = (value: In, scope: Scope) => Promise<Out> | Later<Out> | Out;
/** A result that comes later and is taken at once when it is there; a promise is taken a turn later. */
export class Later<Out> {
  readonly settle: (done: (result: Out) => void, failed: (error: unknown) => void) => void;

  constructor(settle: Later<Out>['settle']) {
    this.settle = settle;
  }
}

/** What a result makes of its delivery. */
export type Finish<Out, To> = (delivery: Delivery<unknown>, result: Out) => readonly Delivery<To>[];

export function calling<In, Out, To>(
  fn: Called<In, Out>,
  options: EachOptions,
  finish: Finish<Out, To>,
): OperatorFunction<Delivery<In>, Delivery<To>> {
  return (source) =>
    new Observable((subscriber) => {
      const calls = new Calls(fn, options, finish, subscriber);
      const input = new Subscriber<Delivery<In>>({
        next: (delivery) => calls.add(delivery),
        error: (error: unknown) => subscriber.error(error),
        complete: () => calls.end(),
      });
      subscriber.add(input);
      subscriber.add(() => calls.abandon());
      source.subscribe(input);
    });
}

class Calls<In, Out, To> {
  readonly #fn: Called<In, Out>;
  readonly #options: EachOptions;
  readonly #finish: Finish<Out, To>;
  readonly #subscriber: Subscriber<Delivery<To>>;
  /** Calls that run, and of these: those whose result was promised. */
  #running = 0;
  readonly #promised = new Set<Call<In>>();
  /** Without a slot yet: never more than the log allows in flight. */
  readonly #waiting: Delivery<In>[] = [];
  #starting = false;
  #ended = false;

  constructor(
    fn: Called<In, Out>,
    options: EachOptions,
    finish: Finish<Out, To>,
    subscriber: Subscriber<Delivery<To>>,
  ) {
    this.#fn = fn;
    this.#options = options;
    this.#finish = finish;
    this.#subscriber = subscriber;
  }

  add(delivery: Delivery<In>): void {
    if (this.#running >= this.#options.concurrency) {
      setState(delivery, 'working');
      this.#waiting.push(delivery);
    } else this.#start(new Call(delivery));
  }

  /** The input has ended. */
  end(): void {
    this.#ended = true;
    this.#goOn();
  }

  /** The subscriber is gone. */
  abandon(): void {
    for (const delivery of this.#waiting) setState(delivery, 'free');
    this.#waiting.length = 0;
    for (const call of this.#promised) {
      setState(call.delivery, 'free');
      call.abort();
    }
    this.#promised.clear();
  }

  #start(call: Call<In>): void {
    this.#running += 1;
    let result: Promise<Out> | Later<Out> | Out;
    try {
      result = this.#fn(call.delivery.value, call);
    } catch (error) {
      this.#failed(call, error);
      return;
    }
    if (this.#subscriber.closed) call.abort();
    if (!(result instanceof Promise || result instanceof Later)) {
      this.#succeeded(call, result);
      return;
    }
    const done = (value: Out): void => this.#succeeded(call, value);
    const failed = (error: unknown): void => this.#failed(call, error);
    setState(call.delivery, 'working');
    this.#promised.add(call);
    if (result instanceof Later) result.settle(done, failed);
    else result.then(done, failed);
  }

  #succeeded(call: Call<In>, result: Out): void {
    if (this.#subscriber.closed) return;
    call.end();
    try {
      for (const part of this.#finish(call.withSideRecords(), result)) this.#subscriber.next(part);
    } catch (error) {
      this.#subscriber.error(error);
      return;
    }
    this.#done(call);
  }

  #failed(call: Call<In>, error: unknown): void {
    if (this.#subscriber.closed) return;
    call.end();
    const { delivery } = call;
    if (hasCode(error, 'NOT_NOW')) setState(delivery, 'waiting');
    else if (this.#options.onError === 'fail') this.#subscriber.error(error);
    else call.withSideRecords().also(deadLetters, deadLetterOf(delivery, error)).drop();
    this.#done(call);
  }

  #done(call: Call<In>): void {
    this.#running -= 1;
    this.#promised.delete(call);
    this.#goOn();
  }

  #goOn(): void {
    if (this.#starting) return;
    this.#starting = true;
    while (this.#waiting.length > 0 && this.#running < this.#options.concurrency) {
      this.#start(new Call(this.#waiting.shift() as Delivery<In>));
    }
    this.#starting = false;
    if (this.#ended && this.#running === 0) this.#subscriber.complete();
  }
}

/** One call, and the scope that its function sees. */
class Call<In> implements Scope {
  readonly delivery: Delivery<In>;
  /** The call has ended: too late to abort it. */
  #over = false;
  /** Made on first use: most functions never ask, and it costs more than all the rest here. */
  #abort: AbortController | null = null;
  #aborted = false;
  #sideRecords: SideRecord[] | null = null;
  #paced = false;

  constructor(delivery: Delivery<In>) {
    this.delivery = delivery;
  }

  paced(now: boolean): void {
    if (this.#paced === now || this.#over) return;
    this.#paced = now;
    ownerOf(this.delivery).paced?.(now ? 1 : -1);
  }

  end(): void {
    this.paced(false);
    this.#over = true;
    setState(this.delivery, 'free');
  }

  get topic(): string {
    return this.delivery.topic;
  }

  get position(): Position {
    return this.delivery.position;
  }

  get key(): string {
    return this.delivery.key;
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#aborted) this.#abort.abort();
    return this.#abort.signal;
  }

  get stopping(): AbortSignal {
    return stoppingOf(this.delivery);
  }

  also<T>(topic: Topic<T>, value: T): void {
    this.#sideRecords ??= [];
    this.#sideRecords.push({ topic: topic as Topic<unknown>, value });
  }

  /** The delivery with all side records of the call. */
  withSideRecords(): Delivery<unknown> {
    const sideRecords = this.#sideRecords ?? [];
    return sideRecords.reduce<Delivery<unknown>>(
      (on, { topic, value }) => on.also(topic, value),
      this.delivery,
    );
  }

  abort(): void {
    if (this.#over) return;
    this.#aborted = true;
    this.#abort?.abort();
  }
}
