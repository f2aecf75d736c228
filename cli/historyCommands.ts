/** The commands that look back at a run, with their options and examples. */
import { type Command, Option } from 'commander';
import { beginnings, toolModes } from '../jobs/replay/index.ts';
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
    'Recompute a run from its records, to verify it or to make a new run from it.',
    [
      'millrace replay first --verify',
      'millrace replay first --from scored --set reward=accuracy --into second',
      'millrace replay first --from selected --set keep=64 --into third --tools recorded-else-live',
    ],
  )
    .option(
      '--verify',
      'recompute every record without calling tools and compare; exit code 1 if any differs',
    )
    .addOption(
      new Option(
        '--from <topic>',
        'make a new run: recompute this topic and all after it, keep the others as recorded',
      ).choices(beginnings),
    )
    .option('--into <NAME>', 'name of the new run')
    .option('--set <key=value>', 'override a setting (repeatable)', collect, [])
    .addOption(
      new Option('--tools <how>', 'where tool results come from')
        .choices(toolModes)
        .default('recorded'),
    )
    .option('--job <FILE>', 'job file (default: the one that the run was started with)');
  onRun(replay, replayCommand, io, done);
}

function addRewind(program: Command, io: Io, done: Done): void {
  const rewind = command(program, 'rewind', 'Start a new run from a step of an existing one.', [
    'millrace rewind first --to step=12 --into second',
    'millrace rewind first --to step=12 --into second --set lr=0.00003',
  ])
    .requiredOption('--to <step=N>', 'optimiser step to go back to; 0 = before the first')
    .requiredOption('--into <NAME>', 'name of the new run')
    .option('--set <key=value>', 'override a setting from that step on (repeatable)', collect, []);
  onRun(rewind, rewindCommand, io, done);
}

function addDiff(program: Command, io: Io, done: Done): void {
  command(program, 'diff', 'Show where two runs first differ, with their metrics side by side.', [
    'millrace diff first second',
    'millrace diff first second --json',
  ])
    .argument('<run-a>', 'a run')
    .argument('<run-b>', 'another')
    .option('--json', 'print one JSON object')
    .action(async (a: string, b: string, options) =>
      done(await diffCommand({ ...options, a, b }, io)),
    );
}

function addDoctor(program: Command, io: Io, done: Done): void {
  const doctor = command(
    program,
    'doctor',
    'Check a run: its records, weights files and run.json.',
    ['millrace doctor first', 'millrace doctor first --json', 'millrace doctor first --index'],
  )
    .option('--index', 'first rebuild the index by key; the run must not be running')
    .option(
      '--fix',
      'first remove what killed processes left: partial weights files, scratch folders',
    )
    .option('--json', 'print one JSON object')
    .addOption(new Option('--here').hideHelp());
  onRun(doctor, doctorCommand, io, done);
}

function addDlq(program: Command, io: Io, done: Done): void {
  const dlq = program
    .command('dlq')
    .description(
      'Show and retry the dead letters of a run: what could not be read or processed, and why.',
    );
  const add = (
    name: string,
    about: string,
    examples: readonly string[],
    act: (options: DlqOptions, io: Io) => Promise<number>,
  ): void => {
    command(dlq, name, about, examples)
      .argument('[run]', 'the run (default: the newest)')
      .argument('[numbers...]', 'only these, by their numbers in the list')
      .option('--json', 'print one JSON object per letter')
      .action(async (run: string | undefined, numbers: readonly string[], options) => {
        const named = run === undefined ? {} : { run };
        done(await act({ ...options, ...named, numbers: numbers.map(whole) }, io));
      });
  };
  add('ls', 'List dead letters.', ['millrace dlq ls first'], dlqList);
  add('show', 'Show dead letters in full.', ['millrace dlq show first 3'], dlqShow);
  add(
    'retry',
    'Put rows back into the run after you have fixed the questions files.',
    ['millrace dlq retry first', 'millrace dlq retry first 3 4'],
    dlqRetry,
  );
}
