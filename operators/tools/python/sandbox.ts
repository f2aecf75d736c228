/**
 * One sandbox process as its parent sees it: it starts, runs one program at a time, and is killed if it does
 * not answer in time, grows too large, says something unexpected, or says more than an answer can have.
 *
 * The process stops a program by itself when the time is up (child/gate.mjs); the kill is for what does not
 * look at the clock, and comes `GRACE_MS` later.
 */

import type { Socket } from 'node:net';
import { residentBytes, withoutSecrets } from '../../../base/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import { readLines } from './channel.ts';
import { launch, pyodideFolder, type SandboxProcess } from './launch.ts';
import { programPython } from './programPython.ts';
import { MARGIN, type ProgramResult, type ProgramResultKind } from './programResult.ts';

export interface SandboxSettings {
  readonly timeoutMs: number;
  /** Python's memory limit, in MiB (it starts at about 30). */
  readonly memoryMaxMiB: number;
  /** Limit of code points of output that are kept. */
  readonly outputMax: number;
  /** Print a last expression's value even if it is None. */
  readonly printNone: boolean;
  /** What it can import besides the standard library. */
  readonly packages: readonly SandboxPackage[];
  /** Our own Python, run once at the start: every program starts from the resulting modules. */
  readonly prelude?: string;
}

export interface SandboxPackage {
  /** Absolute. */
  readonly path: string;
  readonly native: boolean;
  readonly imports: readonly string[];
}

/** The messages of the process. */
const KINDS: readonly ProgramResultKind[] = ['done', 'raised', 'expired', 'forbidden', 'stopped'];

/** Takes seconds on an idle machine; with packages and many other processes, minutes. */
const START_MAX_MS = 300_000;
const GRACE_MS = 1000;
const WATCH_MS = 100;
/** A process that has grown this much since its start is replaced once another one is there. */
const GROWTH_KEPT_MIB = 64;
/** Most characters of one code point in JSON, and of the rest of an answer. */
const ESCAPED_MAX = 6;
const ANSWER_REST_MAX = 1000;
/** Room for the process itself: its compiler, the in-memory files, garbage. */
const SLACK_MIB = 256;
const COMPLAINT_MAX = 4096;
const MIB = 2 ** 20;

interface Pending {
  readonly id: number;
  settle(result: ProgramResult): void;
}

interface Answer extends ProgramResult {
  readonly id: number;
  readonly reusable: boolean;
  readonly worn: boolean;
}

function isAnswer(message: unknown, id: number): message is Answer {
  const answer = message as Partial<Answer> | null;
  return (
    answer?.id === id &&
    typeof answer.text === 'string' &&
    typeof answer.reusable === 'boolean' &&
    typeof answer.worn === 'boolean' &&
    KINDS.includes(answer.kind as ProgramResultKind)
  );
}

export class Sandbox {
  readonly #child: SandboxProcess;
  readonly #settings: SandboxSettings;
  readonly #gone: Promise<void>;
  #hear: (line: string | null) => void = () => undefined;
  #startBytes = 0;
  #complaint = '';
  #pending: Pending | null = null;
  #nextId = 0;
  #usable = true;
  #worn = false;

  private constructor(settings: SandboxSettings, child: SandboxProcess) {
    this.#settings = settings;
    this.#child = child;
    this.#gone = new Promise((resolve) => {
      this.#child.once('exit', () => resolve());
      this.#child.once('error', () => resolve());
    });
    void this.#gone.then(() => this.#lost('the process ended'));
    this.#child.on('error', (error) => this.#complain(error.message));
    this.#child.stderr.on('data', (bytes: Buffer) => this.#complain(String(bytes)));
    this.#child.stdin.on('error', (error) => this.#lost(error.message));
    const lengthMax = (settings.outputMax + MARGIN) * ESCAPED_MAX + ANSWER_REST_MAX;
    readLines(this.#child.stdout, lengthMax, (line) => this.#hear(line));
  }

  /**
   * A process that is ready for its first program, in about 3 seconds. Rejects when it cannot start, or when
   * `signal` is aborted; the process is gone then.
   */
  static async start(
    settings: SandboxSettings,
    signal: AbortSignal = new AbortController().signal,
    child: SandboxProcess = launch({ files: settings.packages.map(({ path }) => path) }),
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

  /** It has grown: it can take another program, but holds more memory than a fresh one. */
  get worn(): boolean {
    return this.#worn;
  }

  /** Settles when the process has ended. */
  get gone(): Promise<void> {
    return this.#gone;
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
        else this.#send({ id, program });
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
      this.#hear = (line) =>
        resolve((jsonIn(line ?? '') as { ready?: unknown } | null)?.ready === true);
      setTimeout(() => resolve(false), START_MAX_MS).unref();
      void this.#gone.then(() => resolve(false));
    });
    this.#send({
      settings: {
        ...settings,
        pyodideFolder: pyodideFolder(),
        memoryMaxBytes: memoryMaxMiB * MIB,
        growthKeptBytes: GROWTH_KEPT_MIB * MIB,
        textMax: settings.outputMax + MARGIN,
        programPython,
      },
    });
    if (!(await ready)) {
      await this.close();
      throw new Error(
        `the Python sandbox did not start: ${this.#complaint.trim() || 'it gave no reason'}. ` +
          'Check that the pyodide package is fully installed (npm ci).',
      );
    }
    this.#startBytes = residentBytes(this.#child.pid!) ?? 0;
    this.#hear = (line) => this.#answered(line);
    this.#child.stderr.pause();
    this.#letGo();
  }

  /** An idle process does not keep this one alive. */
  #letGo(): void {
    const { stdin, stdout, stderr } = this.#child;
    this.#child.unref();
    for (const pipe of [stdin, stdout, stderr]) (pipe as Socket).unref();
  }

  #send(message: unknown): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #answered(line: string | null): void {
    const pending = this.#pending;
    const message = jsonIn(line ?? '');
    if (!pending || !isAnswer(message, pending.id)) {
      this.#kill({ kind: 'stopped', text: 'an unexpected answer' });
      return;
    }
    const { kind, text, reusable, worn } = message;
    this.#pending = null;
    this.#worn = worn;
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
