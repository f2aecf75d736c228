/**
 * What may follow the words of a command line: commands, options and their values. It executes none of the
 * user's code, so a job's settings are known only if the job comes with the package.
 */
import type { Command, Option } from 'commander';
import type { Candidate, Spot } from './spot.ts';
import { valuesOf } from './values.ts';

/** Candidates for the last word, which may be empty; `program` knows the command's options. */
export async function candidates(
  program: Command,
  words: readonly string[],
  cwd: string,
): Promise<readonly Candidate[]> {
  const { found, rest } = commandIn(program, words);
  const spot = spotOf(found, rest, cwd);
  const all = await allAt(spot);
  return all.filter(({ word }) => word.startsWith(spot.typed) && word !== spot.typed);
}

async function allAt(spot: Spot): Promise<readonly Candidate[]> {
  const { command, option, given, typed } = spot;
  if (option !== null) return valuesOf(spot, option.long ?? '', option.argChoices);
  if (typed.startsWith('-')) return optionsOf(command);
  if (command.commands.length > 0) return command.commands.map(commandOf);
  const { registeredArguments: takes } = command;
  const argument = takes[given.length] ?? (takes.at(-1)?.variadic ? takes.at(-1) : undefined);
  return argument === undefined ? [] : valuesOf(spot, argument.name(), argument.argChoices);
}

/** The innermost command that the words name, and the words after it. `help` takes commands too. */
function commandIn(
  program: Command,
  words: readonly string[],
): { readonly found: Command; readonly rest: readonly string[] } {
  let [found, rest] = [program, words[0] === 'help' ? words.slice(1) : words];
  for (;;) {
    const [name] = rest.length > 1 ? rest : [];
    const inner = found.commands.find((one) => one.name() === name);
    if (inner === undefined) return { found, rest };
    [found, rest] = [inner, rest.slice(1)];
  }
}

function spotOf(command: Command, words: readonly string[], cwd: string): Spot {
  const given: string[] = [];
  const set: Record<string, string> = {};
  let option: Option | null = null;
  for (const word of words.slice(0, -1)) {
    if (option !== null) {
      set[option.long ?? ''] = word;
      option = null;
    } else if (word.startsWith('-')) {
      const named = command.options.find(({ long, short }) => long === word || short === word);
      option = named?.required ? named : null;
    } else given.push(word);
  }
  return { command, option, given, set, typed: words.at(-1) ?? '', cwd };
}

function optionsOf(command: Command): Candidate[] {
  const shown = command.options.filter(({ hidden, long }) => !hidden && long !== undefined);
  const own = shown.map(({ long, description }) => ({ word: long!, about: description }));
  return [...own, { word: '--help', about: 'display help for command' }];
}

function commandOf(command: Command): Candidate {
  return { word: command.name(), about: command.description() };
}
