/**
 * What every command has in common: its description, --runs, its examples, and the parsing of option values.
 */
import { type Command, InvalidArgumentError } from 'commander';
import type { Io } from './io.ts';
import { defaultRunsFolder } from './runs.ts';

/** Receives the exit code of the command that ran. */
export type Done = (code: number) => void;

export function command(
  program: Command,
  name: string,
  about: string,
  examples: readonly string[],
): Command {
  const lines = examples.map((example) => `  ${example}`).join('\n');
  return program
    .command(name)
    .description(about)
    .option('--runs <FOLDER>', 'folder that holds the runs', defaultRunsFolder)
    .addHelpText('after', `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${lines}`);
}

/** Lets a command take a run (default: the newest) and calls `act` with it and the command's options. */
export function onRun<Options extends { readonly run?: string }>(
  takes: Command,
  act: (options: Options, io: Io) => Promise<number>,
  io: Io,
  done: Done,
): void {
  takes
    .argument('[run]', 'the run (default: the newest)')
    .action(async (run: string | undefined, options) =>
      done(await act(run === undefined ? options : { ...options, run }, io)),
    );
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

/** For an option that takes a port to listen on. */
export function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError('It must be a port, 0 to 65535.');
}
