/**
 * The command line: every command with its options, an example, and nothing else. What a command does is
 * in the file of its name.
 */
import { Command } from 'commander';
import { collect, command, type Done, whole } from './command.ts';
import { addEval } from './eval/command.ts';
import { exitCodes, failure } from './failure.ts';
import { addHistoryCommands } from './historyCommands.ts';
import type { Io } from './io.ts';
import { addModel } from './model/commands.ts';
import { reportCommand } from './report.ts';
import { runCommand } from './run.ts';
import { addTap } from './tap/command.ts';
import { addTop } from './top/command.ts';
import { topicsCommand } from './topics.ts';
import { version } from './version.ts';

/** Runs one command line (without `node` and the script); resolves to the exit code, never rejects. */
export async function main(args: readonly string[], io: Io): Promise<number> {
  let code: number = exitCodes.done;
  const program = build(io, (result) => {
    code = result;
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    const { code: failed, message } = failure(error);
    if (message !== '') io.err(message);
    return failed;
  }
}

function build(io: Io, done: Done): Command {
  const program = new Command('millrace')
    .description('Trains tool-using language-model agents as a stream of durable topics.')
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.out(text),
      writeErr: (text) => io.err(text.trimEnd()),
    })
    .showSuggestionAfterError()
    .showHelpAfterError('add --help to see its options')
    .addHelpText('after', `\n${exitCodesText}\n\nFor one command: millrace help <command>`);
  addRun(program, io, done);
  addTap(program, io, done);
  addTop(program, io, done);
  addTopics(program, io, done);
  addReport(program, io, done);
  addEval(program, io, done);
  addModel(program, io, done);
  addHistoryCommands(program, io, done);
  return program;
}

const exitCodesText =
  'Exit codes: 0 done (or stopped by one Ctrl-C), 1 failed, 2 wrong command line, 130 second Ctrl-C.';

function addRun(program: Command, io: Io, done: Done): void {
  command(program, 'run', 'Run a job. The same --run again resumes it.', [
    'millrace run examples/quickstart/job.ts --run first --seed 11',
    'millrace run examples/quickstart/job.ts --set rounds=2 --set questions=my.csv',
    'millrace run examples/quickstart/job.ts --settings',
  ])
    .argument('<job.ts>', 'file that exports a job (defineJob)')
    .option('--set <key=value>', 'override a setting; may be repeated', collect, [])
    .option('--run <NAME>', 'name of the run (default: the job with a number)')
    .option('--seed <N>', 'seed of every random draw (default: 1)', whole)
    .option(
      '--log <URL>',
      'keep the records on Kafka: kafka://host:port (docs/kafka.md); default: in the run folder',
    )
    .option(
      '--only <a,b>',
      'run only these stages and sources; other processes run the rest (Kafka)',
    )
    .option('--except <a,b>', 'run all but these stages and sources (Kafka)')
    .option(
      '--worker <NAME>',
      'name of this process; one that starts with the same name takes over from it',
    )
    .option('--settings', 'list the settings of the job and their defaults, run nothing')
    .action(async (file: string, options) => done(await runCommand({ ...options, file }, io)));
}

function addTopics(program: Command, io: Io, done: Done): void {
  command(
    program,
    'topics',
    'List the topics of a run: records, size, lag of each reading group.',
    ['millrace topics first'],
  )
    .argument('[run]', 'the run (default: the newest)')
    .option('--json', 'one JSON object')
    .action(async (run: string | undefined, options) =>
      done(await topicsCommand({ ...options, ...(run === undefined ? {} : { run }) }, io)),
    );
}

function addReport(program: Command, io: Io, done: Done): void {
  command(
    program,
    'report',
    'Before and after, round by round; also writes report.html into the run.',
    ['millrace report first', 'millrace report first --json'],
  )
    .argument('[run]', 'the run (default: the newest)')
    .option('--json', 'one JSON object')
    .action(async (run: string | undefined, options) =>
      done(await reportCommand({ ...options, ...(run === undefined ? {} : { run }) }, io)),
    );
}
