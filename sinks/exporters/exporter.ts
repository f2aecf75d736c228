/**
 * An exporter: sends what a run writes to another program. `millrace metrics RUN --to NAME:WHERE` chooses one
 * of `all.ts`.
 */
import type { Clock } from '../../base/index.ts';
import {
  type ExportOptions,
  exportMetrics,
  type MetricTarget,
  type RunAbout,
} from '../outside/exportMetrics.ts';

/** The run to export, and how. */
export interface Exported {
  readonly about: RunAbout;
  /** Of the run, absolute. */
  readonly folder: string;
  readonly clock: Clock;
  /** Prints a line for the user. */
  readonly notice: (line: string) => void;
  /** How long to wait for a server that does not answer. */
  readonly patienceMs: number;
  /** Texts too, if the program takes any. */
  readonly content: boolean;
}

/** Exports a run to a program. */
export interface Carrier {
  /** Returns how many things were exported. */
  readonly carry: (options: ExportOptions) => Promise<number>;
  /** What these are: `metric`. */
  readonly of: string;
  /** The program's name in messages. */
  readonly name: string;
  /** How to view them once they have arrived; ends a sentence. */
  readonly how: () => string;
  readonly close: () => unknown;
}

/** An exporter that a command line can name. */
export interface Exporter {
  /** How to write it: `tensorboard:FOLDER`. */
  readonly form: string;
  /** Checks what follows the colon; folders are relative to `cwd`. Fails with code `USAGE`. */
  where(given: string, cwd: string): string;
  open(where: string, run: Exported): Promise<Carrier> | Carrier;
}

/** Exports the metrics of a run. */
export function carryMetrics(
  target: MetricTarget,
  {
    close = () => undefined,
    ...words
  }: Pick<Carrier, 'name' | 'how'> & Partial<Pick<Carrier, 'close'>>,
): Carrier {
  return { ...words, of: 'metric', carry: (options) => exportMetrics(target, options), close };
}
