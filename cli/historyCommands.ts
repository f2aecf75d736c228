/** The commands that look back at a run, with their options and examples. */
import { type Command, Option } from 'commander';
import { toolModes } from '../jobs/replay/recordedTools.ts';
import { beginnings } from '../jobs/replay/remake.ts';
import { collect, command, type Done, onRun, whole } from './command.ts';
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
  const replay = command(
    program,
    'replay',
    'Recompute a run from its records: to verify it, or to make another of it.',
    [
      'millrace replay first --verify',
      'millrace replay first --from scored --set reward=accuracy --into second',
      'millrace replay first --from selected --set keep=64 --into third --tools recorded-else-live',
    ],
  )
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
    .option('--job <FILE>', 'file of the job (default: the one that the run was started with)');
  onRun(replay, replayCommand, io, done);
}

function addRewind(program: Command, io: Io, done: Done): void {
  const rewind = command(program, 'rewind', 'Start a new run from a step of another.', [
    'millrace rewind first --to step=12 --into second',
    'millrace rewind first --to step=12 --into second --set lr=0.00003',
  ])
    .requiredOption('--to <step=N>', 'the optimiser step to go back to; 0 = before any')
    .requiredOption('--into <NAME>', 'name of the new run')
    .option('--set <key=value>', 'override a setting from there on; may be repeated', collect, []);
  onRun(rewind, rewindCommand, io, done);
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
  const doctor = command(
    program,
    'doctor',
    'Check a run: its records, its weights files, run.json.',
    ['millrace doctor first', 'millrace doctor first --json', 'millrace doctor first --index'],
  )
    .option(
      '--index',
      'first make the index by key again, from the records of a run that stands still',
    )
    .option(
      '--fix',
      'first remove what killed processes left: halves of weights files, scratch folders',
    )
    .option('--json', 'one JSON object')
    .addOption(new Option('--here').hideHelp());
  onRun(doctor, doctorCommand, io, done);
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
      .action(async (run: string | undefined, numbers: readonly string[], options) => {
        const named = run === undefined ? {} : { run };
        done(await act({ ...options, ...named, numbers: numbers.map(whole) }, io));
      });
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
