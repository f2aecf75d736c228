/**
 * `python`: runs a program that a model wrote, in CPython on WebAssembly inside a locked process, or on a
 * server.
 *
 * The result is what the program printed and the value of its last expression, or the last line of its
 * error. Every call begins from the same state, so the same program gives the same output: hash seed,
 * `random`, `os.urandom` and the files are the same each time. Only the clock goes on.
 *
 * How it is isolated is described in `launch.ts` (the process), `child/gate.mjs` (the way out of WebAssembly)
 * and `child/host.mjs` (the host's doors). It has the standard library and the packages that are given. A
 * server (`remote.ts`) has its own packages, and need not give the same output each time.
 */

import { raceAbort } from '../../../base/index.ts';
import { type Tool, toolDown } from '../tool.ts';
import { Pool, type PoolSize } from './pool.ts';
import { failed, type ProgramLimits, type ProgramResult, toolResultOf } from './programResult.ts';
import { type PythonServer, remoteInterpreter } from './remote.ts';
import type { SandboxPackage } from './sandbox.ts';

/** Limits of the interpreter, and how to print its output. */
export interface PythonOptions {
  /** Time limit of one program (default 2000), including reading and compiling it. */
  readonly timeoutMs?: number;
  /**
   * Memory limit of a program in MiB, at least 64 (default 256; on a server: all it has). Beyond it Python
   * raises MemoryError.
   */
  readonly memoryMaxMiB?: number;
  /** Limit of code points of a result; a longer one is cut and ends in `...` (default 1000). */
  readonly outputMax?: number;
  /** Programs that may run at once, each in a process of about 250 MiB (default 1). */
  readonly processes?: number;
  /** How many spare processes to keep ready for when a program gets stuck (default 1). */
  readonly spares?: number;
  /** Print the last expression's value even if it is None, like the ET-Agent reference. */
  readonly printNone?: boolean;
  /** Packages that programs can import: the added ones (`addedPackages`), complete and in order. */
  readonly packages?: readonly NamedPackage[];
  /**
   * Python to run once when a process starts, after loading packages: every program starts from the resulting
   * modules. It runs outside the sandbox's limits, so never pass a model's text.
   */
  readonly prelude?: string;
  /** What runs the programs (default: a sandbox on this machine). It has its own packages. */
  readonly server?: PythonServer;
}

/** Runs programs, one way or another. */
interface Interpreter {
  run(program: string, signal: AbortSignal): Promise<ProgramResult>;
  close(): Promise<void>;
}

/** A package and what it is called. */
export interface NamedPackage extends SandboxPackage {
  readonly name: string;
}

/** Limit of code points of a program. */
const PROGRAM_MAX = 100_000;

function bounded(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new RangeError(`python: ${name} is ${value}; give a whole number from ${min} to ${max}`);
}

/**
 * The Python tool. Processes start with the first call (about 3 s each) and stay until `close()`.
 *
 * A signal gives the caller up at once; the program ends by its own time limit. When no process can be
 * started, or each that runs the program ends without an answer, a call rejects with code `TOOL_DOWN`; when
 * none could ever be started, with `TOOL_BROKEN`.
 */
export function pythonTool(options: PythonOptions = {}): Tool {
  const { server, packages = [] } = options;
  const limits = {
    timeoutMs: bounded('timeoutMs', options.timeoutMs ?? 2000, 1, 3_600_000),
    memoryMaxMiB: memoryOf(options),
    outputMax: bounded('outputMax', options.outputMax ?? 1000, 1, 1_000_000),
  };
  const processes = bounded('processes', options.processes ?? 1, 1, 64);
  const spares = bounded('spares', options.spares ?? 1, 0, 64);
  const interpreter =
    server === undefined
      ? sandboxes(limits, { processes, spares }, options)
      : onServer(server, limits, options);
  return {
    name: 'python',
    about: [
      'Runs a Python program and gives what it prints and the value of its last expression.',
      `A program may take ${limits.timeoutMs / 1000} s; ${limits.outputMax} characters of what it gives are shown.`,
      ...(packages.length === 0 ? [] : [`It has ${packages.map(({ name }) => name).join(', ')}.`]),
    ].join(' '),
    concurrencyMax: processes,
    pure: server === undefined,
    async run(program, signal) {
      signal.throwIfAborted();
      if (program.length > PROGRAM_MAX) {
        return failed(`ValueError: the program is longer than ${PROGRAM_MAX} characters`);
      }
      return toolResultOf(await interpreter.run(program, signal), limits);
    },
    close: () => interpreter.close(),
  };
}

function memoryOf({ server, memoryMaxMiB }: PythonOptions): number {
  if (server !== undefined && memoryMaxMiB === undefined) return 0;
  return bounded('memoryMaxMiB', memoryMaxMiB ?? 256, 64, 4096);
}

function sandboxes(
  limits: ProgramLimits,
  size: PoolSize,
  { printNone = false, packages = [], prelude = '' }: PythonOptions,
): Interpreter {
  const plain = packages.map(({ path, native, imports }) => ({ path, native, imports }));
  const pool = new Pool({ ...limits, printNone, packages: plain, prelude }, size);
  return {
    run: (program, signal) => raceAbort(pool.run(program), signal),
    close: () => pool.close(),
  };
}

function onServer(
  server: PythonServer,
  limits: ProgramLimits,
  { printNone = false, packages = [] }: PythonOptions,
): Interpreter {
  if (packages.length > 0)
    throw new RangeError('python: a server has its own packages; leave out `packages`');
  const remote = remoteInterpreter(server, limits, printNone);
  let closed = false;
  return {
    async run(program, signal) {
      if (closed) throw toolDown('python', 'it is closed');
      return remote.run(program, signal);
    },
    async close() {
      closed = true;
      remote.close();
    },
  };
}
