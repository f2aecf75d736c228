/**
 * Where to ask about the cluster: the brokers in the address, then those that the cluster has mentioned.
 *
 * All links of a log share it, so what one has learnt helps the others when the brokers of the address are
 * gone. A broker that did not answer is asked last the next time.
 */
import { type Broker, parseBroker } from '@platformatic/kafka';

const PORT = 9092;

export class Brokers {
  readonly #named: readonly Broker[];
  #all: readonly Broker[];
  #size: number;
  #first = 0;

  constructor(named: readonly string[]) {
    this.#named = named.map((broker) => parseBroker(broker, PORT));
    this.#all = this.#named;
    this.#size = named.length;
  }

  /** All of them, in the order in which to try them. */
  get inTurn(): Broker[] {
    const first = this.#first % this.#all.length;
    return [...this.#all.slice(first), ...this.#all.slice(0, first)];
  }

  /** Whether the cluster is known to have more than one. */
  get several(): boolean {
    return this.#size > 1;
  }

  /** The brokers that the cluster has now. */
  learn(brokers: readonly Broker[]): void {
    const all = [...this.#named, ...brokers].map(({ host, port }) => ({ host, port }));
    this.#all = [
      ...new Map(all.map((broker) => [`${broker.host}:${broker.port}`, broker])).values(),
    ];
    this.#size = brokers.length;
  }

  /** The first one did not answer. */
  next(): void {
    this.#first = (this.#first + 1) % this.#all.length;
  }
}
