/**
 * The command line of a benchmark: commander, with `--json` for all, and parsers for what the options hold. A
 * command line that is wrong ends the process with a sentence and exit code 2.
 */
import { Command, InvalidArgumentError } from 'commander';

/**
 * A command without options but `--json` (and `--help`).
 *
 * @param name As typed: `npm run soak`.
 * @param about What is measured, in a few sentences.
 */
export function benchmark(name: string, about: string): Command {
  return new Command(name)
    .usage('[-- options]')
    .description(about.replaceAll('\n', ' '))
    .option('--json', 'make one JSON object the last line of the output', false)
    .showHelpAfterError(`${name} -- --help lists the options; npm passes on what follows a --`)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
}

/** A whole number, 0 or more. */
export function whole(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('It must be a whole number, 0 or more.');
}

/** A whole number above 0. */
export function count(text: string): number {
  if (/^\d+$/.test(text) && whole(text) > 0) return whole(text);
  throw new InvalidArgumentError('It must be a whole number above 0.');
}

/** Whole numbers above 0, with commas between them. */
export function counts(text: string): readonly number[] {
  return text.split(',').map(count);
}

/** A number, 0 or more. */
export function amount(text: string): number {
  if (/^(\d+\.?\d*|\.\d+)$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number, 0 or more.');
}

/** A number above 0. */
export function positive(text: string): number {
  if (/[1-9]/.test(text) && amount(text) > 0) return amount(text);
  throw new InvalidArgumentError('It must be a number above 0.');
}

/** Some of `names`, with commas between them, put in the order that they have here. */
export function someOf<T extends string>(names: readonly T[]): (text: string) => readonly T[] {
  return (text) => {
    const given = new Set<string>(text.split(','));
    const found = names.filter((name) => given.has(name));
    if (found.length === given.size) return found;
    throw new InvalidArgumentError(`It must be some of ${names.join()}.`);
  };
}
