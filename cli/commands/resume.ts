/** `millrace resume` on the command line. */
import type { Command } from 'commander';
import { aRun, ofRuns, onRun, type Place, type Subcommand } from '../command.ts';
import type { ControlOptions } from '../control/control.ts';

export const command: Subcommand = {
  about: 'Resume a paused run.',
  takes: aRun,
  declare: declareResume,
};

function declareResume(it: Command, place: Place): void {
  const resume = ofRuns(it, ['millrace resume live']).option('--json', 'print one JSON object');
  onRun<ControlOptions>(
    resume,
    async () => {
      const { pauseCommand } = await import('../control/control.ts');
      return (options, io) => pauseCommand('resume', options, io);
    },
    place,
  );
}
