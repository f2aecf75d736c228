/**
 * One sandbox process as its parent sees it: it starts, runs one program at a time, and is killed when it
 * does not answer in time, grows too large, or says something that was not asked.
 *
 * The process stops a program by itself when the time is up (child/gate.mjs); the kill is for what does not
 * look at the clock, and comes `GRACE_MS` later.
 */

import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { residentBytes } from '../../../base/platform.ts';
import { withoutSecrets } from '../../../base/secrets.ts';
import { launch, pyodideFolder } from './launch.ts';

export interface SandboxSettings {
  readonly timeoutMs: number;
  /** Most that Python's memory may come to, in MiB (it starts at about 30). */
  readonly memoryMaxMiB: number;
  /** Most code points of output that are kept. */
  readonly outputMax: number;
  /** Print a last expression's value when it is None as well. */
  readonly printNone: boolean;
  /** What it can import besides the standard library. */
  readonly packages: readonly SandboxPackage[];
}

export interface SandboxPackage {
  /** Absolute. */
  readonly path: string;
  readonly native: boolean;
  readonly imports: readonly string[];
}

/**
 * How a program ended: `done` with its output, `raised` with the error's last line, `expired` and
 * `overgrown` at a limit, `forbidden` with the name of what it called, `stopped` when the interpreter broke. `lost` is no
 * answer at all: the process went without one.
 */
export type ProgramResultKind =
  | 'done'
  | 'raised'
  | 'expired'
  | 'overgrown'
  | 'forbidden'
  | 'stopped'
  | 'lost';

export interface ProgramResult {
  readonly kind: ProgramResultKind;
  readonly text: string;
}

/** What the process may say of itself. */
const KINDS: readonly ProgramResultKind[] = ['done', 'raised', 'expired', 'forbidden', 'stopped'];

const START_MAX_MS = 60_000;
const GRACE_MS = 1000;
const WATCH_MS = 100;
/** A process that has grown this far past its start is not restored but replaced. */
const GROWTH_KEPT_MIB = 64;
/** Room for the process itself: its compiler, the in-memory files, garbage. */
const SLACK_MIB = 256;
const COMPLAINT_MAX = 4096;
const MIB = 2 ** 20;

interface Pending {
  readonly id: number;
  settle(result: ProgramResult): void;
}

function isAnswer(message: unknown, id: number): message is ProgramResult & { reusable: boolean } {
  const answer = message as Partial<ProgramResult & { id: number; reusable: boolean }> | null;
  return (
    answer?.id === id &&
    typeof answer.text === 'string' &&
    typeof answer.reusable === 'boolean' &&
    KINDS.includes(answer.kind as ProgramResultKind)
  );
}

export class Sandbox {
  readonly #child: ChildProcess;
  readonly #settings: SandboxSettings;
  readonly #gone: Promise<void>;
  #startBytes = 0;
  #complaint = '';
  #pending: Pending | null = null;
  #nextId = 0;
  #usable = true;

  private constructor(settings: SandboxSettings, child: ChildProcess) {
    this.#settings = settings;
    this.#child = child;
    this.#gone = new Promise((resolve) => {
      this.#child.once('exit', () => resolve());
      this.#child.once('error', () => resolve());
    });
    void this.#gone.then(() => this.#lost('the process ended'));
    this.#child.on('error', (error) => this.#complain(error.message));
    this.#child.stderr?.on('data', (bytes: Buffer) => this.#complain(String(bytes)));
  }

  /**
   * A process that is ready for its first program, in about 3 seconds. Rejects when it cannot start, or when
   * `signal` is aborted; the process is gone then.
   */
  static async start(
    settings: SandboxSettings,
    signal: AbortSignal = new AbortController().signal,
    child: ChildProcess = launch({ files: settings.packages.map(({ path }) => path) }),
  ): Promise<Sandbox> {
    const sandbox = new Sandbox(settings, child);
    const abandon = () => sandbox.#kill({ kind: 'lost', text: 'closed' });
    signal.addEventListener('abort', abandon);
    try {
      if (signal.aborted) abandon();
      await sandbox.#greet();
      return sandbox;
    } finally {
      signal.removeEventListener('abort', abandon);
    }
  }

  /** It can take another program. */
  get usable(): boolean {
    return this.#usable;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Runs one program; the next one only after this has settled. Never rejects. */
  async run(program: string): Promise<ProgramResult> {
    if (this.#pending) throw new Error('a sandbox runs one program at a time');
    const { timeoutMs } = this.#settings;
    const id = this.#nextId++;
    const late = setTimeout(() => this.#kill({ kind: 'expired', text: '' }), timeoutMs + GRACE_MS);
    const watch = setInterval(() => this.#watchSize(), WATCH_MS);
    try {
      return await new Promise<ProgramResult>((settle) => {
        this.#pending = { id, settle };
        if (!this.#usable) this.#lost('the process ended');
        else this.#child.send({ id, program }, (error) => error && this.#lost(error.message));
      });
    } finally {
      clearTimeout(late);
      clearInterval(watch);
    }
  }

  /** Kills the process and waits until it is gone. */
  async close(): Promise<void> {
    this.#child.ref();
    this.#kill({ kind: 'lost', text: 'closed' });
    await this.#gone;
  }

  async #greet(): Promise<void> {
    const { memoryMaxMiB, ...settings } = this.#settings;
    const ready = new Promise<boolean>((resolve) => {
      this.#child.once('message', (message) =>
        resolve((message as { ready?: true })?.ready === true),
      );
      setTimeout(() => resolve(false), START_MAX_MS).unref();
      void this.#gone.then(() => resolve(false));
    });
    this.#child.send({
      settings: {
        ...settings,
        pyodideFolder: pyodideFolder(),
        memoryMaxBytes: memoryMaxMiB * MIB,
        growthKeptBytes: GROWTH_KEPT_MIB * MIB,
      },
    });
    if (!(await ready)) {
      await this.close();
      throw new Error(
        `the Python sandbox did not start: ${this.#complaint.trim() || 'it gave no reason'}. ` +
          'Check that the pyodide package is installed whole (npm ci).',
      );
    }
    this.#startBytes = residentBytes(this.#child.pid!) ?? 0;
    this.#child.on('message', (message) => this.#hear(message));
    this.#letGo();
  }

  /** An idle process does not keep this one alive. */
  #letGo(): void {
    this.#child.unref();
    this.#child.channel?.unref();
    (this.#child.stderr as Socket | null)?.unref();
  }

  #hear(message: unknown): void {
    const pending = this.#pending;
    if (!pending || !isAnswer(message, pending.id)) {
      this.#kill({ kind: 'stopped', text: 'an answer that was not asked for' });
      return;
    }
    const { kind, text, reusable } = message;
    this.#pending = null;
    if (!reusable) this.#kill({ kind, text });
    pending.settle({ kind, text });
  }

  #watchSize(): void {
    const bytes = residentBytes(this.#child.pid!);
    const bytesMax = this.#startBytes + (this.#settings.memoryMaxMiB + SLACK_MIB) * MIB;
    if (bytes !== null && bytes > bytesMax) this.#kill({ kind: 'overgrown', text: '' });
  }

  #kill(result: ProgramResult): void {
    this.#usable = false;
    this.#child.kill('SIGKILL');
    this.#settle(result);
  }

  #lost(reason: string): void {
    this.#usable = false;
    this.#settle({ kind: 'lost', text: reason });
  }

  #settle(result: ProgramResult): void {
    const pending = this.#pending;
    this.#pending = null;
    pending?.settle(result);
  }

  #complain(text: string): void {
    this.#complaint = withoutSecrets(this.#complaint + text).slice(-COMPLAINT_MAX);
  }
}
