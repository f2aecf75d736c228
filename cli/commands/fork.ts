/** `millrace fork` on the command line. */
import type { Command } from 'commander';
import { ofRuns, type Place, positive, type Subcommand, whole } from '../command.ts';

export const command: Subcommand = {
  about: 'Run an agent again from one of its model calls on. Trains and keeps nothing.',
  takes: { '<run>': 'a run of the job agent' },
  declare: declareFork,
};

function declareFork(it: Command, { io, done }: Place): void {
  ofRuns(it, ['millrace fork my-run --rollout train-7/explore-1/0 --call 3 -n 8'])
    .requiredOption('--rollout <ID>', 'the rollout whose session is forked')
    .requiredOption('--call <N>', 'first model call to sample again, from 1', positive)
    .option('-n, --rollouts <N>', 'runs of the agent, rewarded as a group', positive, 1)
    .option('--seed <N>', 'seed of the new samples (default: the run’s plus one)', whole)
    .option('--json', 'print one JSON object')
    .action(async (run: string, options) => {
      const { forkCommand } = await import('../fork.ts');
      done(await forkCommand({ ...options, run }, io));
    });
}
