/** `millrace set` on the command line. */
import type { Command } from 'commander';
import { ofRuns, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about:
    'Change settings of a run while it is running; with none given, list the changes so far (docs/forever.md).',
  takes: { '<run>': 'the run', '[key=value...]': 'settings to change' },
  declare: declareSet,
};

function declareSet(it: Command, { io, done }: Place): void {
  ofRuns(it, ['millrace set live temperature=0.8 concurrency=48', 'millrace set live'])
    .option('--json', 'print one JSON object')
    .action(async (run: string, settings: readonly string[], options) => {
      const { setCommand } = await import('../control/control.ts');
      done(await setCommand({ ...options, run, settings }, io));
    });
}
