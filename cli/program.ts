/**
 * The command line. It knows what each command is for and takes; the options and action of the typed command
 * are loaded on demand.
 */
import { Command } from 'commander';
import type { Place } from './command.ts';
import { commands } from './commands/index.ts';
import { type CommandName, commandNames } from './commands/names.ts';
import { exitCodes, failure } from './failure.ts';
import type { Io } from './io.ts';
import { calledHere, tell } from './programName.ts';
import { version } from './version.ts';

/** Runs one command line (without `node` and the script); resolves to the exit code, never rejects. */
export async function main(args: readonly string[], process: Io): Promise<number> {
  const io = calledHere(process, args);
  let code: number = exitCodes.done;
  const done = (result: number): void => {
    code = result;
  };
  try {
    const place = { io, args, main, done };
    const program = await build(place);
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    const { code: failed, message } = failure(error);
    if (message !== '') io.err(message);
    return failed;
  }
}

/** The program for a command line, without running it: for the reference and the tests of the docs. */
export function programFor(args: readonly string[], io: Io): Promise<Command> {
  return build({ io, args, main, done: () => undefined });
}

async function build(given: Omit<Place, 'program'>): Promise<Command> {
  const { io, args } = given;
  const place = {
    ...given,
    program: (other: readonly string[]) => build({ ...given, args: other }),
  };
  const program = new Command('millrace')
    .description('Train tool-using language-model agents as a stream of durable topics.')
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void tell(io, text),
      writeErr: (text) => io.err(text.trimEnd()),
    })
    .showSuggestionAfterError()
    .showHelpAfterError('add --help to see its options')
    .addHelpText('after', `\n${exitCodesText}\n\nHelp on a command: millrace help <command>`);
  const typed = commandIn(args);
  const described = typed === null && !asksForVersion(args) ? commandNames : [typed];
  for (const name of commandNames) {
    const command = program.command(name);
    if (!described.includes(name)) continue;
    const { about, takes = {}, declare } = (await commands[name]()).command;
    command.description(about);
    for (const [argument, what] of Object.entries(takes)) command.argument(argument, what);
    if (name === typed) await declare(command, place);
  }
  return program;
}

/** The command to run or explain, if it is one of ours. */
function commandIn(args: readonly string[]): CommandName | null {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'));
  const name = first === 'help' ? second : first;
  return commandNames.find((one) => one === name) ?? null;
}

function asksForVersion([first]: readonly string[]): boolean {
  return first === '-V' || first === '--version';
}

const exitCodesText =
  'Exit codes: 0 = done (or stopped by one Ctrl-C), 1 = failed,\n            2 = wrong command line, 130 = second Ctrl-C.';
