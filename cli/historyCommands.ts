/** The commands that look back at a run, with their options and examples. */
import { type Command, Option } from 'commander';
import { toolModes } from '../jobs/replay/recordedTools.ts';
import { beginnings } from '../jobs/replay/remake.ts';
import { collect, command, type Done, whole } from './command.ts';
import { diffCommand } from './diff.ts';
import { type DlqOptions, dlqList, dlqRetry, dlqShow } from './dlq/dlq.ts';
import { doctorCommand } from './doctor/doctor.ts';
import type { Io } from './io.ts';
import { replayCommand } from './replay/replay.ts';
import { rewindCommand } from './rewind/rewind.ts';

export function addHistoryCommands(program: Command, io: Io, done: Done): void {
  addReplay(program, io, done);
  addRewind(program, io, done);
  addDiff(program, io, done);
  addDoctor(program, io, done);
  addDlq(program, io, done);
}

function addReplay(program: Command, io: Io, done: Done): void {
  command(
    program,
    'replay',
    'Recompute a run from its records: to verify it, or to make another of it.',
    [
      'millrace replay first --verify',
      'millrace replay first --from scored --set reward=accuracy --into second',
      'millrace replay first --from selected --set keep=64 --into third --tools recorded-else-live',
    ],
  )
    .argument('[run]', 'the run (default: the newest)')
    .option(
      '--verify',
      'recompute every record, without calling tools, and compare; exit code 1 if one differs',
    )
    .addOption(
      new Option(
        '--from <topic>',
        'make a new run: recompute this topic and those after it, take the others as recorded',
      ).choices(beginnings),
    )
    .option('--into <NAME>', 'name of the new run')
    .option('--set <key=value>', 'override a setting; may be repeated', collect, [])
    .addOption(
      new Option('--tools <how>', 'how its tools answer').choices(toolModes).default('recorded'),
    )
    .option('--job <FILE>', 'file of the job (default: the one that the run was started with)')
    .action(async (run: string | undefined, options) =>
      done(await replayCommand({ ...options, ...named(run) }, io)),
    );
}

function addRewind(program: Command, io: Io, done: Done): void {
  command(program, 'rewind', 'Start a new run from a step of another.', [
    'millrace rewind first --to step=12 --into second',
    'millrace rewind first --to step=12 --into second --set lr=0.00003',
  ])
    .argument('[run]', 'the run (default: the newest)')
    .requiredOption('--to <step=N>', 'the optimiser step to go back to; 0 = before any')
    .requiredOption('--into <NAME>', 'name of the new run')
    .option('--set <key=value>', 'override a setting from there on; may be repeated', collect, [])
    .action(async (run: string | undefined, options) =>
      done(await rewindCommand({ ...options, ...named(run) }, io)),
    );
}

function addDiff(program: Command, io: Io, done: Done): void {
  command(program, 'diff', 'Show where two runs first differ, and their metrics side by side.', [
    'millrace diff first second',
    'millrace diff first second --json',
  ])
    .argument('<run-a>', 'a run')
    .argument('<run-b>', 'another')
    .option('--json', 'one JSON object')
    .action(async (a: string, b: string, options) =>
      done(await diffCommand({ ...options, a, b }, io)),
    );
}

function addDoctor(program: Command, io: Io, done: Done): void {
  command(program, 'doctor', 'Check a run: its records, its weights files, run.json.', [
    'millrace doctor first',
    'millrace doctor first --json',
  ])
    .argument('[run]', 'the run (default: the newest)')
    .option('--json', 'one JSON object')
    .addOption(new Option('--here').hideHelp())
    .action(async (run: string | undefined, options) =>
      done(await doctorCommand({ ...options, ...named(run) }, io)),
    );
}

function addDlq(program: Command, io: Io, done: Done): void {
  const dlq = program
    .command('dlq')
    .description('The dead letters of a run: what could not be read or processed, and why.');
  const add = (
    name: string,
    about: string,
    examples: readonly string[],
    act: (options: DlqOptions, io: Io) => Promise<number>,
  ): void => {
    command(dlq, name, about, examples)
      .argument('[run]', 'the run (default: the newest)')
      .argument('[numbers...]', 'only those with these numbers in the list')
      .option('--json', 'a JSON object a letter')
      .action(async (run: string | undefined, numbers: readonly string[], options) =>
        done(await act({ ...options, ...named(run), numbers: numbers.map(whole) }, io)),
      );
  };
  add('ls', 'List them.', ['millrace dlq ls first'], dlqList);
  add('show', 'Show them in full.', ['millrace dlq show first 3'], dlqShow);
  add(
    'retry',
    'Put rows of questions files that have been fixed back into the run.',
    ['millrace dlq retry first', 'millrace dlq retry first 3 4'],
    dlqRetry,
  );
}

/** The run, where one was named. */
function named(run: string | undefined): { readonly run?: string } {
  return run === undefined ? {} : { run };
}
