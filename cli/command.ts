/** How every command is put on the command line: its sentence, where runs lie, its examples; and what options hold. */
import { type Command, InvalidArgumentError } from 'commander';
import { defaultRunsFolder } from './runs.ts';

/** Told the exit code of the command that ran. */
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
    .option('--runs <FOLDER>', 'folder of the runs', defaultRunsFolder)
    .addHelpText('after', `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${lines}`);
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
