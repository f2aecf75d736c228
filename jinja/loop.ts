/** The state of a for block, available as `loop`: looks ahead one item, and further only for a length. */
import { spend } from './budget.ts';
import { fail } from './failure.ts';
import {
  type Arguments,
  Callable,
  equal,
  iterate,
  Loop,
  lengthOf,
  orElse,
  Tuple,
  Undefined,
  type Value,
} from './values.ts';

export class LoopState {
  readonly loop: Loop;
  #items: Iterator<Value>;
  /** Items fetched ahead of the current one. */
  readonly #ahead: Value[] = [];
  #length: number | null;
  #index = -1;
  #before: Value | undefined;
  #now: Value | undefined;
  #changed: Value | undefined;

  /** Loops over `items`, or over `passing`, those that pass the block's test. */
  constructor(
    items: Value,
    passing: Iterable<Value> | null,
    depth: number,
    recurse: Loop['recurse'],
  ) {
    this.#length = passing === null ? lengthOf(items) : null;
    this.#items = (passing ?? iterate(items))[Symbol.iterator]();
    const index = () => BigInt(this.#index);
    this.loop = new Loop(
      {
        index: () => index() + 1n,
        index0: index,
        first: () => this.#index === 0,
        last: () => this.#peek() === undefined,
        length: () => BigInt(this.#size()),
        revindex: () => BigInt(this.#size() - this.#index),
        revindex0: () => BigInt(this.#size() - this.#index - 1),
        previtem: () => orElse(this.#before, () => new Undefined('there is no previous item')),
        nextitem: () => orElse(this.#peek(), () => new Undefined('there is no next item')),
        depth: () => BigInt(depth + 1),
        depth0: () => BigInt(depth),
        cycle: () => new Callable('cycle', ({ positional }) => this.#cycle(positional)),
        changed: () => new Callable('changed', (args) => this.#hasChanged(args)),
      },
      recurse,
    );
  }

  /** The next item; undefined at the end. */
  next(): Value | undefined {
    const item = this.#peek();
    if (item === undefined) return undefined;
    spend();
    this.#ahead.shift();
    this.#index++;
    this.#before = this.#now;
    this.#now = item;
    return item;
  }

  #peek(): Value | undefined {
    if (this.#ahead.length === 0) {
      const { value, done } = this.#items.next();
      if (!done) this.#ahead.push(value);
    }
    return this.#ahead[0];
  }

  #size(): number {
    if (this.#length === null) {
      for (let { value, done } = this.#items.next(); !done; { value, done } = this.#items.next())
        this.#ahead.push(value);
      this.#length = this.#ahead.length + this.#index + 1;
    }
    return this.#length;
  }

  #cycle(values: readonly Value[]): Value {
    return orElse(values[this.#index % values.length], () => fail('no items for cycling given'));
  }

  #hasChanged({ positional }: Arguments): boolean {
    const now = new Tuple(positional);
    const changed = this.#changed === undefined || !equal(this.#changed, now);
    this.#changed = now;
    return changed;
  }
}
