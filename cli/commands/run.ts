/** `millrace run` on the command line. */
import { type Command, Option } from 'commander';
import { collect, ofRuns, type Place, port, type Subcommand, whole } from '../command.ts';
import { addMetricsFlags } from '../metrics/flags.ts';

export const command: Subcommand = {
  about:
    'Run a job: a ready one by name, or your own file. Repeat the command with the same --run to resume.',
  takes: { '[job]': 'a ready job (--list), or a file that exports a job (defineJob)' },
  declare: declareRun,
};

async function declareRun(it: Command, { io, done, args }: Place): Promise<void> {
  const run = ofRuns(it, [
    'millrace run quickstart --run first --seed 11',
    'millrace run et-agent --set policy=models/qwen --set questions=my.jsonl --set tools=python,search --set corpus=wiki.jsonl',
    'millrace run et-agent --preset et-agent-7b --show-settings > my.yaml',
    'millrace run et-agent --settings my.yaml --set engine.server=vllm --set engine.urls=http://gpu1:8000',
    'millrace run et-agent --settings my.yaml --check',
    'millrace run my/job.ts --set rounds=2',
  ]);
  const settings = asksForHelpOnJob(args) ? (await import('../jobHelp.ts')).jobHelp(args) : '';
  run
    .option('--list', 'list the ready jobs and their presets, and exit')
    .option(
      '--preset <NAME>',
      'use settings that come with the job, such as the numbers of a paper',
    )
    .option(
      '--settings <FILE>',
      'YAML or JSON file of settings; they override the preset. llamafactory:FILE reads a YAML file of LLaMA-Factory, verl:FILE (or verl:-) the overrides of a script for verl',
    )
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
    .option(
      '--check',
      'check everything that the run needs to start, try policy, engine and trainer on one question, and exit',
    )
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
  run.addOption(
    new Option(
      '--page [port]',
      'serve the live page while the job runs, from a separate process',
    ).argParser(port),
  );
  run.addHelpText('after', settings).action(async (file: string | undefined, options) => {
    const { runCommand } = await import('../run.ts');
    done(await runCommand({ ...options, ...(file === undefined ? {} : { file }) }, io));
  });
}

function asksForHelpOnJob(args: readonly string[]): boolean {
  const words = args.filter((arg) => !arg.startsWith('-'));
  if (words[0] === 'help') return words.length > 2;
  return words.length > 1 && (args.includes('--help') || args.includes('-h'));
}
