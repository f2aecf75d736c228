/** How a program ended, wherever it ran, and what the policy reads of it. */
import { outputText } from '../outputText.ts';
import { type ToolResult, toolDown } from '../tool.ts';

/**
 * How a program ended: `done` with its output, `raised` with the error's last line, `expired` and `overgrown`
 * at a limit, `forbidden` with the name of what it called, `stopped` when the interpreter broke. `lost` is no
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

export interface ProgramLimits {
  /** Time limit of one program. */
  readonly timeoutMs: number;
  /** Memory limit of one program in MiB; 0 = all there is. */
  readonly memoryMaxMiB: number;
  /** Limit of code points of a result; a longer one is cut and ends in `...`. */
  readonly outputMax: number;
}

/** Code points kept beyond the limit: for leading blanks, and to show that there was more. */
export const MARGIN = 256;

/** What the policy reads of a finished program. Throws `TOOL_DOWN` for a lost one. */
export function toolResultOf(ended: ProgramResult, limits: ProgramLimits): ToolResult {
  const text = outputText(ended.text.trim(), limits.outputMax);
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

/** A failed call with this text. */
export function failed(output: string): ToolResult {
  return { output, ok: false };
}
