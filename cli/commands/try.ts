/** `millrace try` on the command line. */
import type { Command } from 'commander';
import { collect, ofRuns, type Place, positive, type Subcommand, whole } from '../command.ts';

export const command: Subcommand = {
  about: 'Try a job on one question: its prompt, rollouts and rewards. Trains and keeps nothing.',
  takes: { '<job>': 'a ready job, or a file that exports a job (defineJob)' },
  declare: declareTry,
};

function declareTry(it: Command, { io, done }: Place): void {
  ofRuns(it, [
    'millrace try my/job.ts',
    'millrace try my/job.ts --question "What is 12 * 12?" --answer 144 -n 4',
    'millrace try et-agent --settings my.yaml --set temperature=0.6',
  ])
    .option('--question <TEXT>', 'question to ask (default: the first of the job’s questions)')
    .option('--answer <TEXT>', 'a right answer to --question (repeatable)', collect, [])
    .option('--id <ID>', 'ask the job’s question with this id')
    .option('-n, --rollouts <N>', 'rollouts of the question, rewarded as a group', positive, 1)
    .option('--preset <NAME>', 'use settings that come with the job')
    .option('--settings <FILE>', 'YAML or JSON file of settings; they override the preset')
    .option(
      '--set <key=value>',
      'set one setting; overrides preset and file (repeatable)',
      collect,
      [],
    )
    .option('--seed <N>', 'seed of every random draw', whole, 1)
    .option('--json', 'print one JSON object')
    .action(async (job: string, options) => {
      const { tryCommand } = await import('../try.ts');
      done(await tryCommand({ ...options, job }, io));
    });
}
