/**
 * What every command has in common: its description, --runs, its examples, and the parsing of option values.
 */
import { type Command, InvalidArgumentError } from 'commander';
import type { Io } from './io.ts';

/** What a command gets besides its options. */
export interface Place {
  readonly io: Io;
  /** Gets the exit code of the command that ran. */
  readonly done: (code: number) => void;
  /** The command line, for help texts that depend on it. */
  readonly args: readonly string[];
  /** The program for another command line. */
  readonly program: (args: readonly string[]) => Promise<Command>;
  /** Runs another command line. */
  readonly main: (args: readonly string[], io: Io) => Promise<number>;
}

/** A command, as far as it is known before it is typed. */
export interface Subcommand {
  readonly about: string;
  /** Its arguments, and what each is. */
  readonly takes?: Readonly<Record<string, string>>;
  /** Adds options, examples and an action. Loads what these need. */
  readonly declare: (it: Command, place: Place) => void | Promise<void>;
}

export const aRun = { '[run]': 'the run (default: the newest)' };

export const topicPatterns = {
  '<topic...>': '<run>.<topic>, or <topic> of the newest run; * and ? are wildcards',
};

/** The folder of runs, unless another is given. */
export const RUNS = 'runs';

/** For a command that works on runs. */
export function ofRuns(it: Command, examples: readonly string[]): Command {
  return it
    .option('--runs <FOLDER>', 'folder that holds the runs', RUNS)
    .addHelpText('after', examplesText(examples));
}

export function examplesText(examples: readonly string[]): string {
  const lines = examples.map((example) => `  ${example}`).join('\n');
  return `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${lines}`;
}

/** For a command that takes `aRun`: the function from `load` is called with it and the options. */
export function onRun<Options extends { readonly run?: string }>(
  it: Command,
  load: () => Promise<(options: Options, io: Io) => Promise<number>>,
  { io, done }: Pick<Place, 'io' | 'done'>,
): void {
  it.action(async (run: string | undefined, options) => {
    const act = await load();
    done(await act(run === undefined ? options : { ...options, run }, io));
  });
}

/** For an option that may be repeated. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** For an option that takes a whole number. */
export function whole(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('It must be a whole number, 0 or more.');
}

/** For an option that takes a number of things, at least one. */
export function positive(text: string): number {
  if (/^\d+$/.test(text) && whole(text) > 0) return whole(text);
  throw new InvalidArgumentError('It must be a whole number, 1 or more.');
}

/** For an option that takes a port to listen on. */
export function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError('It must be a port, 0 to 65535.');
}
