/** `millrace pause` on the command line. */
import type { Command } from 'commander';
import { aRun, ofRuns, onRun, type Place, type Subcommand } from '../command.ts';
import type { ControlOptions } from '../control/control.ts';

export const command: Subcommand = {
  about: 'Pause a run: it finishes what is in flight and starts nothing new until resumed.',
  takes: aRun,
  declare: declarePause,
};

function declarePause(it: Command, place: Place): void {
  const pause = ofRuns(it, ['millrace pause live']).option('--json', 'print one JSON object');
  onRun<ControlOptions>(
    pause,
    async () => {
      const { pauseCommand } = await import('../control/control.ts');
      return (options, io) => pauseCommand('pause', options, io);
    },
    place,
  );
}
