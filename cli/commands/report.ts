/** `millrace report` on the command line. */
import type { Command } from 'commander';
import { aRun, ofRuns, onRun, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about:
    'Report results before and after, round by round; also writes report.html with the live page into the run.',
  takes: aRun,
  declare: declareReport,
};

function declareReport(it: Command, place: Place): void {
  const report = ofRuns(it, ['millrace report first', 'millrace report first --json'])
    .option('--json', 'print one JSON object')
    .option('--no-page', 'only print; write nothing into the run');
  onRun(report, async () => (await import('../report.ts')).reportCommand, place);
}
