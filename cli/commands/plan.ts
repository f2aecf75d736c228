/** `millrace plan` on the command line. */
import type { Command } from 'commander';
import { collect, ofRuns, type Place, positive, type Subcommand, whole } from '../command.ts';

export const command: Subcommand = {
  about: 'Predict how fast a job would be on a cluster, and what would hold it back.',
  takes: { '[file...]': 'clusters, as YAML files (docs/plan.md)' },
  declare: declarePlan,
};

function declarePlan(it: Command, { io, done }: Place): void {
  ofRuns(it, [
    'millrace plan cluster.yaml',
    'millrace plan cluster.yaml --split 64+192,96+160 --lag-max 0,1,4',
    'millrace plan --from first --lag-max 0,1,4 --split 2+1',
  ])
    .option('--from <RUN>', 'learn the cluster from this run')
    .option('--split <A+B,…>', 'GPUs that generate + GPUs that train; a plan for each')
    .option('--lag-max <N,…>', 'versions that rollouts may lag behind; a plan for each')
    .option('--workers <N,…>', 'processes that roll out; a plan for each')
    .option('--set <key=value>', 'override a value of the file', collect, [])
    .option('--steps <N>', 'steps to measure; 8 or more unless given', positive)
    .option('--seed <N>', 'seed of every random draw', whole, 1)
    .option('--json', 'print one JSON object')
    .action(async (files: readonly string[], options) => {
      const { planCommand } = await import('../plan.ts');
      done(await planCommand({ ...options, files }, io));
    });
}
