/** `millrace unpack` on the command line. */
import type { Command } from 'commander';
import { ofRuns, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about: 'Check a packed run and add it to the runs.',
  takes: { '<file>': 'archive written by millrace pack' },
  declare: declareUnpack,
};

function declareUnpack(it: Command, { io, done }: Place): void {
  ofRuns(it, ['millrace unpack first.tar.gz', 'millrace unpack first.tar.gz --into theirs'])
    .option('--into <NAME>', 'name for the run (default: its own)')
    .option(
      '--trust',
      'treat the run as your own: allow resuming it, and executing or contacting what it names (job file, tool servers, addresses)',
    )
    .action(async (file: string, options) => {
      const { unpackCommand } = await import('../pack/unpack.ts');
      done(await unpackCommand({ ...options, file }, io));
    });
}
