/**
 * An exporter: sends what a run writes to a program outside. `millrace metrics RUN --to NAME:WHERE` chooses
 * one of `all.ts`.
 */
import type { Clock } from '../../base/index.ts';
import {
  type ExportOptions,
  exportMetrics,
  type MetricTarget,
  type RunAbout,
} from '../outside/exportMetrics.ts';

/** The run that is exported, and how. */
export interface Exported {
  readonly about: RunAbout;
  /** Of the run, absolute. */
  readonly folder: string;
  readonly clock: Clock;
  /** A line for the user. */
  readonly notice: (line: string) => void;
  /** How long to wait for a server that does not answer. */
  readonly patienceMs: number;
  /** Texts too, if the program takes any. */
  readonly content: boolean;
}

/** What exports a run to a program. */
export interface Carrier {
  /** Gives how many things were exported. */
  readonly carry: (options: ExportOptions) => Promise<number>;
  /** What these are: `metric`. */
  readonly of: string;
  /** As messages call the program. */
  readonly name: string;
  /** How to see them once they have arrived; ends a sentence. */
  readonly how: () => string;
  readonly close: () => unknown;
}

/** An exporter that a command line names. */
export interface Exporter {
  /** How it is written: `tensorboard:FOLDER`. */
  readonly form: string;
  /** What follows the colon, checked; folders are relative to `cwd`. Fails with code `USAGE`. */
  where(given: string, cwd: string): string;
  open(where: string, run: Exported): Promise<Carrier> | Carrier;
}

/** Carries the metrics of a run. */
export function carryMetrics(
  target: MetricTarget,
  {
    close = () => undefined,
    ...words
  }: Pick<Carrier, 'name' | 'how'> & Partial<Pick<Carrier, 'close'>>,
): Carrier {
  return { ...words, of: 'metric', carry: (options) => exportMetrics(target, options), close };
}
