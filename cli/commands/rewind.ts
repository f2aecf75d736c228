/** `millrace rewind` on the command line. */
import type { Command } from 'commander';
import { aRun, collect, ofRuns, onRun, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about: 'Start a new run from a step of an existing one.',
  takes: aRun,
  declare: declareRewind,
};

function declareRewind(it: Command, place: Place): void {
  const rewind = ofRuns(it, [
    'millrace rewind first --to step=12 --into second',
    'millrace rewind first --to step=12 --into second --set lr=0.00003',
  ])
    .requiredOption('--to <step=N>', 'optimiser step to go back to; 0 = before the first')
    .requiredOption('--into <NAME>', 'name of the new run')
    .option('--set <key=value>', 'override a setting from that step on (repeatable)', collect, []);
  onRun(rewind, async () => (await import('../rewind/rewind.ts')).rewindCommand, place);
}
