/**
 * A small pool of sandbox processes. They start with the first program, stay warm, and are replaced when
 * one is used up; from the first loss on a spare is kept warm, so that a loss costs nobody a start.
 *
 * At most `processes` programs run at once; the rest wait in order, at most `WAITING_MAX` of them. A process that goes
 * without an answer has given none: its program runs again in another. When that does not help, or no process can be
 * started, the tool is down; where none could ever be started, it is broken.
 */
import { messageOf } from '../../../base/errors.ts';
import { toolBroken, toolDown } from '../tool.ts';
import { type ProgramResult, Sandbox, type SandboxSettings } from './sandbox.ts';

const WAITING_MAX = 10_000;
/** Starts that may fail in a row before the pool says so instead of trying again; of the first ones, for good. */
const FAILURES_MAX = 3;
/** Processes that a program may lose. */
const LOST_MAX = 3;
const CLOSED = toolDown('python', 'it is closed');

type StartSandbox = (settings: SandboxSettings, signal: AbortSignal) => Promise<Sandbox>;

interface Waiter {
  readonly give: (sandbox: Sandbox) => void;
  readonly refuse: (reason: Error) => void;
}

export class Pool {
  readonly #settings: SandboxSettings;
  readonly #processes: number;
  readonly #startSandbox: StartSandbox;
  readonly #idle: Sandbox[] = [];
  readonly #all = new Set<Sandbox>();
  readonly #starts = new Set<Promise<void>>();
  readonly #waiting: Waiter[] = [];
  readonly #closing = new AbortController();
  #running = 0;
  #spares = 0;
  #failures = 0;
  #everStarted = false;

  constructor(settings: SandboxSettings, processes: number, start: StartSandbox = Sandbox.start) {
    this.#settings = settings;
    this.#processes = processes;
    this.#startSandbox = start;
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Runs a program in a process of its own for that time. Rejects with code `TOOL_DOWN` or `TOOL_BROKEN`. */
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
    await Promise.all(this.#starts);
  }

  #take(): Promise<Sandbox> {
    if (this.#closed) return Promise.reject(CLOSED);
    if (this.#waiting.length >= WAITING_MAX) {
      const advice = 'bound the rollouts in flight or raise `processes`';
      return Promise.reject(toolDown('python', `${WAITING_MAX} programs wait for it: ${advice}`));
    }
    return new Promise((give, refuse) => {
      this.#waiting.push({ give, refuse });
      this.#serve();
    });
  }

  #giveBack(sandbox: Sandbox): void {
    this.#running--;
    if (sandbox.usable) this.#idle.push(sandbox);
    else {
      this.#all.delete(sandbox);
      this.#spares = 1;
    }
    this.#serve();
  }

  /** Hands idle processes to those who wait, and starts what is missing. */
  #serve(): void {
    if (this.#closed) return;
    while (this.#waiting.length > 0 && this.#running < this.#processes && this.#idle.length > 0) {
      const sandbox = this.#idle.shift()!;
      if (!sandbox.usable) {
        this.#all.delete(sandbox);
        continue;
      }
      this.#running++;
      this.#waiting.shift()!.give(sandbox);
    }
    const wanted = Math.min(this.#processes, this.#running + this.#waiting.length);
    const target = wanted + this.#spares;
    while (this.#all.size + this.#starts.size < target) this.#start();
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
  }

  #failed(error: Error): void {
    if (++this.#failures < FAILURES_MAX) return;
    this.#failures = 0;
    this.#spares = 0;
    const refusal = this.#everStarted ? toolDown : toolBroken;
    this.#refuseAll(refusal('python', messageOf(error), error));
  }

  #refuseAll(reason: Error): void {
    for (const waiter of this.#waiting.splice(0)) waiter.refuse(reason);
  }
}
