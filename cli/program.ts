/**
 * The command line: every command with its options, an example, and nothing else. What a command does is
 * in the file of its name.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { exitCodes, failure } from './failure.ts';
import type { Io } from './io.ts';
import { reportCommand } from './report/report.ts';
import { runCommand } from './run.ts';
import { defaultRunsFolder } from './runs.ts';
import { formatNames } from './tap/formats.ts';
import { tapCommand } from './tap/tap.ts';
import { topicNames } from './topicNamed.ts';
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

type Done = (code: number) => void;

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
    .addHelpText('after', `\n${exitCodesText}\n\nFor one command: millrace help <command>`);
  addRun(program, io, done);
  addTap(program, io, done);
  addTopics(program, io, done);
  addReport(program, io, done);
  return program;
}

const exitCodesText =
  'Exit codes: 0 done (or stopped by one Ctrl-C), 1 failed, 2 wrong command line, 130 second Ctrl-C.';

function addRun(program: Command, io: Io, done: Done): void {
  command(program, 'run', 'Run a job. The same --run again goes on where it stopped.', [
    'millrace run examples/quickstart/job.ts --run first --seed 11',
    'millrace run examples/quickstart/job.ts --set rounds=2 --set questions=my.csv',
    'millrace run examples/quickstart/job.ts --settings',
  ])
    .argument('<job.ts>', 'file that exports a job (defineJob)')
    .option('--set <key=value>', 'override a setting; may be repeated', collect, [])
    .option('--run <NAME>', 'name of the run (default: the job with a number)')
    .option('--seed <N>', 'seed of every random draw (default: 1)', whole)
    .option('--settings', 'list the settings of the job and their defaults, run nothing')
    .action(async (file: string, options) => done(await runCommand({ ...options, file }, io)));
}

function addTap(program: Command, io: Io, done: Done): void {
  command(program, 'tap', 'Print the records of a topic of a live or finished run.', [
    'millrace tap first.rollouts -n 5 -o ndjson',
    "millrace tap first.scored -f --where 'v.rewards.some((r) => r.score > 1)'",
    'millrace tap metrics --run first --fields step,name,value -o csv | head',
  ])
    .argument('<topic>', `<run>.<topic>, or a topic of the newest run: ${topicNames.join(', ')}`)
    .option('--run <NAME>', 'the run')
    .option(
      '--from <where>',
      'earliest, latest, offset (120), last (-100), age (15m), time (@2026-11-20T10:00); default: earliest, with -f latest',
    )
    .option('-f, --follow', 'go on at the end and wait for more')
    .option('-n, --count <N>', 'stop after so many records', whole)
    .option(
      '--where <expression>',
      'JavaScript over v (record), k (key), o (offset); runs with your rights: only what you wrote yourself',
    )
    .option('--fields <a,b.c>', 'only these parts; $offset, $key, $at are of the envelope')
    .option('--envelope', 'ndjson and csv: put offset, key and time around the record')
    .addOption(
      new Option('-o, --output <format>', 'how to print').choices(formatNames).default('pretty'),
    )
    .action(async (topic: string, options) => done(await tapCommand({ ...options, topic }, io)));
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

function command(
  program: Command,
  name: string,
  about: string,
  examples: readonly string[],
): Command {
  const lines = examples.map((example) => `  ${example}`).join('\n');
  return program
    .command(name)
    .description(about)
    .option('--runs <FOLDER>', 'where runs lie', defaultRunsFolder)
    .addHelpText('after', `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${lines}`);
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function whole(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('It must be a whole number, 0 or more.');
}
