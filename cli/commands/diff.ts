/** `millrace diff` on the command line. */
import type { Command } from 'commander';
import { ofRuns, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about: 'Show where two runs first differ, with their metrics side by side.',
  takes: { '<run-a>': 'a run', '<run-b>': 'another' },
  declare: declareDiff,
};

function declareDiff(it: Command, { io, done }: Place): void {
  ofRuns(it, ['millrace diff first second', 'millrace diff first second --json'])
    .option('--json', 'print one JSON object')
    .action(async (a: string, b: string, options) => {
      const { diffCommand } = await import('../diff.ts');
      done(await diffCommand({ ...options, a, b }, io));
    });
}
