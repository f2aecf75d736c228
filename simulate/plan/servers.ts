/**
 * Inference servers that decode all their requests together: each request gets its share of the speed that
 * the server has with so many. What a request still needs is counted in the tokens that every request of its
 * server has got since it began, so that arrivals and ends change one timer.
 */
import type { Cluster } from './cluster.ts';
import { speedOf } from './cluster.ts';

/** Time as the servers need it. */
export interface Timer {
  now(): number;
  /** Calls `wake` at this time, unless the returned function is called before. */
  at(atMs: number, wake: () => void): () => void;
}

export interface ServersOptions {
  readonly timer: Timer;
  readonly servers: Cluster['servers'];
  readonly count: number;
  /** Times the speed of the file: where one simulated server stands for more or less than one. */
  readonly faster: number;
  /**
   * Called at every change with the tokens per second of all servers together, and the requests that they
   * work on.
   */
  readonly changed: (speed: number, requests: number) => void;
}

interface Request {
  /** What every request of the server has received by then. */
  readonly end: number;
  readonly done: () => void;
}

export class Servers {
  readonly #all: Server[];
  readonly #changed: ServersOptions['changed'];
  #speed = 0;
  #requests = 0;

  constructor({ timer, servers, count, faster, changed }: ServersOptions) {
    this.#changed = changed;
    const speeds = (requests: number): number => faster * speedOf(servers, requests);
    const { requestsMax } = servers;
    const differs = (speed: number): void => this.#differs(speed, 0);
    this.#all = Array.from(
      { length: count },
      () => new Server({ timer, speeds, requestsMax, differs }),
    );
  }

  /** Resolves once the tokens are generated, on the least busy server. */
  async generate(tokens: number): Promise<void> {
    let least = this.#all[0]!;
    for (const server of this.#all) if (server.load < least.load) least = server;
    this.#differs(0, 1);
    await least.generate(tokens);
    this.#differs(0, -1);
  }

  #differs(speed: number, requests: number): void {
    this.#speed += speed;
    this.#requests += requests;
    this.#changed(this.#speed, this.#requests);
  }
}

interface ServerOptions {
  readonly timer: Timer;
  readonly speeds: (requests: number) => number;
  readonly requestsMax: number;
  readonly differs: (speed: number) => void;
}

class Server {
  readonly #options: ServerOptions;
  /** The next to end first. */
  readonly #open: Request[] = [];
  readonly #waiting: (() => void)[] = [];
  /** Tokens that each request has received since the beginning of time. */
  #got = 0;
  #sinceMs: number;
  #speed = 0;
  #cancel = (): void => undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#sinceMs = options.timer.now();
  }

  get load(): number {
    return this.#open.length + this.#waiting.length;
  }

  async generate(tokens: number): Promise<void> {
    while (this.#open.length >= this.#options.requestsMax) {
      await new Promise<void>((free) => this.#waiting.push(free));
    }
    await new Promise<void>((done) => {
      this.#advance();
      const end = this.#got + tokens;
      const place = this.#open.findLastIndex((request) => request.end <= end) + 1;
      this.#open.splice(place, 0, { end, done });
      this.#schedule();
    });
  }

  #advance(): void {
    const nowMs = this.#options.timer.now();
    if (this.#open.length > 0) {
      this.#got += ((nowMs - this.#sinceMs) / 1000) * (this.#speed / this.#open.length);
    }
    this.#sinceMs = nowMs;
  }

  /** After requests have come or gone. */
  #schedule(): void {
    const { timer, speeds, differs } = this.#options;
    const count = this.#open.length;
    const speed = count === 0 ? 0 : speeds(count);
    const before = this.#speed;
    this.#speed = speed;
    this.#cancel();
    const [next] = this.#open;
    if (next !== undefined) {
      const leftMs = (1000 * Math.max(0, next.end - this.#got) * count) / speed;
      this.#cancel = timer.at(this.#sinceMs + leftMs, () => this.#end());
    }
    differs(speed - before);
  }

  #end(): void {
    this.#advance();
    const { done } = this.#open.shift()!;
    this.#schedule();
    this.#waiting.shift()?.();
    done();
  }
}
