/**
 * Turns: only one thread of the process works at a time.
 *
 * ONNX Runtime's WebGPU provider has one command encoder for the process: two sessions that run at the same
 * time, in whichever threads, crash it. Within a thread turns are taken in the order in which they were asked
 * for.
 */
const FREE = 0;
const TAKEN = 1;

export class Turns {
  readonly #state: Int32Array;
  /** Settles when this thread's turn before has ended. */
  #last: Promise<unknown> = Promise.resolve();

  /** Everyone that shares these four bytes (zeros at first) takes turns. */
  constructor(shared: SharedArrayBuffer) {
    this.#state = new Int32Array(shared);
  }

  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(() => this.#alone(work));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    // blocking this thread is fine: it waits for another one
    while (Atomics.compareExchange(this.#state, 0, FREE, TAKEN) !== FREE)
      Atomics.wait(this.#state, 0, TAKEN);
    try {
      return await work();
    } finally {
      Atomics.store(this.#state, 0, FREE);
      Atomics.notify(this.#state, 0, 1);
    }
  }
}
