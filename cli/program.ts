/**
 * The command line: every command with its options, an example, and nothing else. What a command does is
 * in the file of its name.
 */
import { Command, Option } from 'commander';
import { addCache } from './cache/command.ts';
import { collect, command, type Done, whole } from './command.ts';
import { addControl } from './control/commands.ts';
import { addEval } from './eval/command.ts';
import { addExport } from './export/command.ts';
import { exitCodes, failure } from './failure.ts';
import { addHistoryCommands } from './historyCommands.ts';
import { initJob } from './init/init.ts';
import type { Io } from './io.ts';
import { jobHelp } from './jobHelp.ts';
import { addMcp } from './mcp/command.ts';
import { addMetrics, addMetricsFlags } from './metrics/command.ts';
import { addMirror } from './mirror/command.ts';
import { addModel } from './model/commands.ts';
import { addPack } from './pack/command.ts';
import { calledHere, tell } from './programName.ts';
import { reportCommand } from './report.ts';
import { addRetriever } from './retriever/command.ts';
import { runCommand } from './run.ts';
import { addTap } from './tap/command.ts';
import { addTools } from './tools/command.ts';
import { addTop } from './top/command.ts';
import { topicsCommand } from './topics.ts';
import { version } from './version.ts';
import { addView, pageFlag } from './view/command.ts';

/** Runs one command line (without `node` and the script); resolves to the exit code, never rejects. */
export async function main(args: readonly string[], process: Io): Promise<number> {
  const io = calledHere(process);
  let code: number = exitCodes.done;
  const program = build(io, args, (result) => {
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

/** What a command gets besides its options. */
interface Place {
  readonly done: Done;
  /** The command line, for help texts that depend on it. */
  readonly args: readonly string[];
}

function build(io: Io, args: readonly string[], done: Done): Command {
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
  addRun(program, io, { done, args });
  addInit(program, io, { done, args });
  addTap(program, io, done);
  addExport(program, io, done);
  addMirror(program, io, done);
  addPack(program, io, done);
  addTop(program, io, done);
  addView(program, io, done);
  addControl(program, io, done);
  addMetrics(program, io, done);
  addTopics(program, io, done);
  addReport(program, io, done);
  addEval(program, io, done);
  addModel(program, io, done);
  addCache(program, io, done);
  addHistoryCommands(program, io, done);
  addTools(program, io, done);
  addRetriever(program, io, done);
  addMcp(program, io, done, main);
  return program;
}

const exitCodesText =
  'Exit codes: 0 = done (or stopped by one Ctrl-C), 1 = failed, 2 = wrong command line, 130 = second Ctrl-C.';

function addRun(program: Command, io: Io, { done, args }: Place): void {
  const run = command(
    program,
    'run',
    'Run a job: a ready one by name, or your own file. Repeat the command with the same --run to resume.',
    [
      'millrace run quickstart --run first --seed 11',
      'millrace run et-agent --set policy=models/qwen --set questions=my.jsonl --set tools=python,search --set corpus=wiki.jsonl',
      'millrace run et-agent --preset et-agent-7b --show-settings > my.yaml',
      'millrace run et-agent --settings my.yaml --set engine.server=vllm --set engine.urls=http://gpu1:8000',
      'millrace run my/job.ts --set rounds=2',
    ],
  );
  run
    .argument('[job]', 'a ready job (--list), or a file that exports a job (defineJob)')
    .option('--list', 'list the ready jobs and their presets, and exit')
    .option(
      '--preset <NAME>',
      'use settings that come with the job, such as the numbers of a paper',
    )
    .option('--settings <FILE>', 'YAML or JSON file of settings; they override the preset')
    .option(
      '--set <key=value>',
      'set one setting; overrides preset and file (repeatable)',
      collect,
      [],
    )
    .addOption(
      new Option(
        '--show-settings [format]',
        'print all settings and where each came from, as yaml or json for --settings, and exit',
      ).choices(['yaml', 'json']),
    )
    .option('--show-prompt [FILE]', 'print the policy’s prompt, or write it to a file, and exit')
    .option('--run <NAME>', 'name of the run (default: <job>-1, <job>-2, …)')
    .option('--seed <N>', 'seed of every random draw (default: 1)', whole)
    .option(
      '--log <URL>',
      'keep the records on Kafka, kafka://host:port, instead of in the run folder (docs/kafka.md)',
    )
    .option(
      '--keep-log <2GB,7d>',
      'how much of the large topics to keep in the log, by size, age or both; the rest is archived (docs/forever.md)',
    )
    .option(
      '--archive <WHERE>',
      'archive: a folder or the address of an object store, https://… (default: log/archive in the run folder)',
    )
    .option(
      '--only <a,b>',
      'run only these stages and sources, and leave the rest to other processes (Kafka)',
    )
    .option('--except <a,b>', 'run everything except these stages and sources (Kafka)')
    .option(
      '--worker <NAME>',
      'name of this process; a later one with the same name takes over from it',
    );
  run
    .option('--quiet', 'print only warnings and errors')
    .option('--json', 'print events as JSON lines on stdout (docs/output.md)')
    .option(
      '--start-over',
      'start over a run whose records are gone; its old files are set aside in its folder',
    );
  addMetricsFlags(run);
  run.addOption(pageFlag());
  run
    .addHelpText('after', () => jobHelp(args))
    .action(async (file: string | undefined, options) =>
      done(await runCommand({ ...options, ...(file === undefined ? {} : { file }) }, io)),
    );
}

function addInit(program: Command, io: Io, { done }: Place): void {
  program
    .command('init')
    .description('Copy a ready job into a folder of your own, to edit and run it there.')
    .argument('[job]', 'the ready job; omit it to list them')
    .argument('[folder]', 'folder to create (default: the name of the job)')
    .addHelpText('after', '\nExample:\n  millrace init et-agent my')
    .action(async (job: string | undefined, folder: string | undefined) =>
      done(await initJob(job, folder, io)),
    );
}

function addTopics(program: Command, io: Io, done: Done): void {
  command(
    program,
    'topics',
    'List the topics of a run: records, size, and lag of each reading group.',
    ['millrace topics first'],
  )
    .argument('[run]', 'the run (default: the newest)')
    .option('--json', 'print one JSON object')
    .action(async (run: string | undefined, options) =>
      done(await topicsCommand({ ...options, ...(run === undefined ? {} : { run }) }, io)),
    );
}

function addReport(program: Command, io: Io, done: Done): void {
  command(
    program,
    'report',
    'Report results before and after, round by round; also writes report.html with the live page into the run.',
    ['millrace report first', 'millrace report first --json'],
  )
    .argument('[run]', 'the run (default: the newest)')
    .option('--json', 'print one JSON object')
    .option('--no-page', 'only print; write nothing into the run')
    .action(async (run: string | undefined, options) =>
      done(await reportCommand({ ...options, ...(run === undefined ? {} : { run }) }, io)),
    );
}
