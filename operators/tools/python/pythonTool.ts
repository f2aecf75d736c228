/**
 * `python`: runs a program that a model wrote, in CPython on WebAssembly inside a locked process.
 *
 * The result is what the program printed and the value of its last expression, or the last line of its
 * error. Every call begins from the same state, so the same program gives the same output: hash seed,
 * `random`, `os.urandom` and the files are the same each time. Only the clock goes on.
 *
 * What holds it is told in `launch.ts` (the process), `child/gate.mjs` (the way out of WebAssembly) and
 * `child/host.mjs` (the host's doors). The standard library is there, and the packages that are given.
 */

import { raceAbort } from '../../../base/raceAbort.ts';
import { cutCodePoints } from '../../text/characters.ts';
import { type Tool, type ToolResult, toolDown } from '../tool.ts';
import { Pool } from './pool.ts';
import type { ProgramResult, SandboxPackage } from './sandbox.ts';

/** Limits of the interpreter, and how its output is printed. */
export interface PythonOptions {
  /** Time of one program (default 2000); reading and compiling it count. */
  readonly timeoutMs?: number;
  /** Most memory of the interpreter in MiB, from 64 (default 256). Past it Python raises MemoryError. */
  readonly memoryMaxMiB?: number;
  /** Most code points of a result; a longer one is cut and ends in `...` (default 1000). */
  readonly outputMax?: number;
  /** Programs that may run at once, each in a process of about 250 MiB (default 1). */
  readonly processes?: number;
  /** Print the last expression's value when it is None as well, as the ET-Agent reference does. */
  readonly printNone?: boolean;
  /** Packages that programs can import: those that were added (`addedPackages`), whole and in their order. */
  readonly packages?: readonly NamedPackage[];
}

/** A package and what it is called. */
export interface NamedPackage extends SandboxPackage {
  readonly name: string;
}

/** Most code points of a program. */
const PROGRAM_MAX = 100_000;

function bounded(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new RangeError(`python: ${name} is ${value}; give a whole number from ${min} to ${max}`);
}

function failed(output: string): ToolResult {
  return { output, ok: false };
}

/** What the policy reads of a program that ended. */
function resultOf(
  ended: ProgramResult,
  limits: Required<Omit<PythonOptions, 'packages'>>,
): ToolResult {
  const text = cutCodePoints(ended.text.trim(), limits.outputMax);
  switch (ended.kind) {
    case 'done':
      return { output: text, ok: true };
    case 'raised':
      return failed(text);
    case 'expired':
      return failed(`TimeoutError: the program ran longer than ${limits.timeoutMs} ms`);
    case 'overgrown':
      return failed(`MemoryError: the program used more than ${limits.memoryMaxMiB} MiB`);
    case 'forbidden':
      return failed(`PermissionError: the sandbox does not allow this (${text})`);
    case 'stopped':
      return failed(`SystemError: the interpreter stopped (${text})`);
    case 'lost':
      throw toolDown('python', ended.text);
    default:
      return ended.kind satisfies never;
  }
}

/**
 * The Python tool. Processes start with the first call (about 3 s each) and stay until `close()`.
 *
 * A signal gives the caller up at once; the program ends by its own time limit. When no process can be had, or each that
 * runs the program goes without an answer, a call rejects with code `TOOL_DOWN`; when none could ever be started, with
 * `TOOL_BROKEN`.
 */
export function pythonTool(options: PythonOptions = {}): Tool {
  const limits = {
    timeoutMs: bounded('timeoutMs', options.timeoutMs ?? 2000, 1, 3_600_000),
    memoryMaxMiB: bounded('memoryMaxMiB', options.memoryMaxMiB ?? 256, 64, 4096),
    outputMax: bounded('outputMax', options.outputMax ?? 1000, 1, 1_000_000),
    processes: bounded('processes', options.processes ?? 1, 1, 64),
    printNone: options.printNone ?? false,
    packages: (options.packages ?? []).map(({ path, native, imports }) => ({
      ...{ path, native, imports },
    })),
  };
  const names = (options.packages ?? []).map(({ name }) => name);
  const packages = names.length === 0 ? '' : ` It has ${names.join(', ')}.`;
  const pool = new Pool(limits, limits.processes);
  return {
    name: 'python',
    about: `Runs a Python program and gives what it prints and the value of its last expression.${packages}`,
    concurrencyMax: limits.processes,
    pure: true,
    async run(program, signal) {
      signal.throwIfAborted();
      if (program.length > PROGRAM_MAX) {
        return failed(`ValueError: the program is longer than ${PROGRAM_MAX} characters`);
      }
      const ended = await raceAbort(pool.run(program), signal);
      return resultOf(ended, limits);
    },
    close: () => pool.close(),
  };
}
