/** `millrace init` on the command line. */
import type { Command } from 'commander';
import { examplesText, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about: 'Copy a ready job into a folder of your own, to edit and run it there.',
  takes: {
    '[job]': 'the ready job; omit it to list them',
    '[folder]': 'folder to create (default: the name of the job)',
  },
  declare: declareInit,
};

function declareInit(it: Command, { io, done }: Place): void {
  it.addHelpText(
    'after',
    examplesText([
      'millrace init from-scratch my',
      'millrace init et-agent my --policy models/qwen --questions my.jsonl --tools python',
    ]),
  )
    .option('--policy <FOLDER>', 'policy to train')
    .option('--questions <FILE>', 'questions to train on')
    .option('--tools <a,b>', 'tools of the policy')
    .action(async (job: string | undefined, folder: string | undefined, options) => {
      const { initJob } = await import('../init/init.ts');
      done(await initJob(job, folder, options, io));
    });
}
