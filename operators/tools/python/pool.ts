/**
 * A small pool of sandbox processes. They start with the first program, stay warm, and are replaced when one
 * is used up. Spares are kept ready too, started once all processes are up, so that a program that is stuck
 * costs the next one no start.
 *
 * At most `processes + spares` processes stay. One that is worn (it holds more memory than a fresh one) goes
 * on until another is there.
 *
 * At most `processes` programs run at once; the rest wait in order, at most `WAITING_MAX` of them. A process
 * that ends without an answer loses only that: its program runs again in another. If that does not help, or
 * no process can be started, the tool is down; if none could ever be started, it is broken.
 */
import { messageOf } from '../../../base/index.ts';
import { toolBroken, toolDown } from '../tool.ts';
import type { ProgramResult } from './programResult.ts';
import { Sandbox, type SandboxSettings } from './sandbox.ts';

const WAITING_MAX = 10_000;
/**
 * Failed starts in a row before the pool continues with fewer processes or, if it has none, fails;
 * permanently if the first ones fail.
 */
const FAILURES_MAX = 3;
/** Processes that one program may use up. */
const LOST_MAX = 3;
const CLOSED = toolDown('python', 'it is closed');

type StartSandbox = (settings: SandboxSettings, signal: AbortSignal) => Promise<Sandbox>;

interface Waiter {
  readonly give: (sandbox: Sandbox) => void;
  readonly refuse: (reason: Error) => void;
}

/** How many processes run programs, and how many more are kept ready. */
export interface PoolSize {
  readonly processes: number;
  readonly spares: number;
}

export class Pool {
  readonly #settings: SandboxSettings;
  readonly #size: PoolSize;
  readonly #startSandbox: StartSandbox;
  readonly #idle: Sandbox[] = [];
  readonly #all = new Set<Sandbox>();
  readonly #starts = new Set<Promise<void>>();
  readonly #ends = new Set<Promise<void>>();
  readonly #waiting: Waiter[] = [];
  readonly #closing = new AbortController();
  #running = 0;
  #failures = 0;
  #everStarted = false;
  /** Starts have failed: no further attempt before the next program or the next loss. */
  #resting = false;

  constructor(settings: SandboxSettings, size: PoolSize, start: StartSandbox = Sandbox.start) {
    this.#settings = settings;
    this.#size = size;
    this.#startSandbox = start;
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Runs a program in a process of its own. Rejects with code `TOOL_DOWN` or `TOOL_BROKEN`. */
  async run(program: string): Promise<ProgramResult> {
    for (let lost = 1; ; lost++) {
      const ended = await this.#runOnce(program);
      if (ended.kind !== 'lost') return ended;
      if (this.#closed) throw CLOSED;
      if (lost === LOST_MAX) {
        throw toolDown(
          'python',
          `its process ended without an answer ${lost} times (${ended.text})`,
        );
      }
    }
  }

  async #runOnce(program: string): Promise<ProgramResult> {
    const sandbox = await this.#take();
    try {
      return await sandbox.run(program);
    } finally {
      this.#giveBack(sandbox);
    }
  }

  /** Kills every process and waits until they are gone. */
  async close(): Promise<void> {
    this.#closing.abort(CLOSED);
    this.#refuseAll(CLOSED);
    await Promise.all([...this.#all].map((sandbox) => sandbox.close()));
    await Promise.all([...this.#starts, ...this.#ends]);
  }

  #take(): Promise<Sandbox> {
    if (this.#closed) return Promise.reject(CLOSED);
    if (this.#waiting.length >= WAITING_MAX) {
      const advice = 'limit the rollouts in flight or raise `processes`';
      return Promise.reject(
        toolDown('python', `${WAITING_MAX} programs are waiting for it: ${advice}`),
      );
    }
    return new Promise((give, refuse) => {
      this.#resting = false;
      this.#waiting.push({ give, refuse });
      this.#serve();
    });
  }

  #giveBack(sandbox: Sandbox): void {
    this.#running--;
    if (sandbox.usable) this.#idle.push(sandbox);
    else {
      this.#all.delete(sandbox);
      this.#resting = false;
    }
    this.#serve();
  }

  /** Hands idle processes to waiting programs, and starts what is missing. */
  #serve(): void {
    if (this.#closed) return;
    for (const dead of this.#idle.filter(({ usable }) => !usable)) this.#forget(dead);
    this.#retireWorn();
    const { processes, spares } = this.#size;
    while (this.#waiting.length > 0 && this.#running < processes && this.#idle.length > 0) {
      this.#running++;
      this.#waiting.shift()!.give(this.#idle.shift()!);
    }
    if (this.#resting) return;
    const wanted = Math.min(processes, this.#running + this.#waiting.length);
    const target = wanted + (this.#all.size < wanted ? 0 : spares);
    const fresh = [...this.#all].filter(({ worn }) => !worn).length;
    for (let more = target - fresh - this.#starts.size; more > 0; more--) this.#start();
  }

  /** Ends worn idle processes while there are enough others. */
  #retireWorn(): void {
    for (const sandbox of this.#idle.filter(({ worn }) => worn)) {
      if (this.#all.size <= this.#size.processes) return;
      this.#forget(sandbox);
      const end = sandbox.close().finally(() => this.#ends.delete(end));
      this.#ends.add(end);
    }
  }

  #forget(sandbox: Sandbox): void {
    this.#all.delete(sandbox);
    const at = this.#idle.indexOf(sandbox);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  #start(): void {
    const start = this.#startSandbox(this.#settings, this.#closing.signal)
      .then((sandbox) => this.#arrived(sandbox))
      .catch((error: Error) => this.#failed(error))
      .finally(() => {
        this.#starts.delete(start);
        this.#serve();
      });
    this.#starts.add(start);
  }

  async #arrived(sandbox: Sandbox): Promise<void> {
    this.#failures = 0;
    this.#everStarted = true;
    if (this.#closed) return sandbox.close();
    this.#all.add(sandbox);
    this.#idle.push(sandbox);
    void sandbox.gone.then(() => this.#forget(sandbox));
  }

  #failed(error: Error): void {
    if (++this.#failures < FAILURES_MAX) return;
    this.#failures = 0;
    this.#resting = true;
    if (this.#all.size > 0) return;
    const refusal = this.#everStarted ? toolDown : toolBroken;
    this.#refuseAll(refusal('python', messageOf(error), error));
  }

  #refuseAll(reason: Error): void {
    for (const waiter of this.#waiting.splice(0)) waiter.refuse(reason);
  }
}
