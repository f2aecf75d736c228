/** `millrace stop` on the command line. */
import type { Command } from 'commander';
import { aRun, ofRuns, onRun, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about: 'Stop a run cleanly, as Ctrl-C in its terminal does, and wait until it has stopped.',
  takes: aRun,
  declare: declareStop,
};

function declareStop(it: Command, place: Place): void {
  const stop = ofRuns(it, ['millrace stop live'])
    .option('--no-wait', 'do not wait until it has stopped')
    .option('--json', 'print one JSON object');
  onRun(stop, async () => (await import('../control/control.ts')).stopCommand, place);
}
