/** `millrace pack` on the command line. */
import type { Command } from 'commander';
import { aRun, ofRuns, onRun, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about: 'Pack a run into one file, to inspect it on another machine.',
  takes: aRun,
  declare: declarePack,
};

function declarePack(it: Command, place: Place): void {
  const pack = ofRuns(it, [
    'millrace pack first',
    'millrace pack first -o /tmp/first.tar.gz --no-weights',
  ])
    .option('-o, --output <FILE>', 'archive to write (default: <run>.tar.gz)')
    .option('--no-weights', 'omit the checkpoints');
  onRun(pack, async () => (await import('../pack/pack.ts')).packCommand, place);
}
