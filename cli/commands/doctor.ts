/** `millrace doctor` on the command line. */
import { type Command, Option } from 'commander';
import { aRun, ofRuns, onRun, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about: 'Check a run: its records, weights files and run.json.',
  takes: aRun,
  declare: declareDoctor,
};

function declareDoctor(it: Command, place: Place): void {
  const doctor = ofRuns(it, [
    'millrace doctor first',
    'millrace doctor first --json',
    'millrace doctor first --index',
  ])
    .option('--index', 'first rebuild the index by key; the run must not be running')
    .option(
      '--fix',
      'first remove what killed processes left: partial weights files, scratch folders',
    )
    .option('--json', 'print one JSON object')
    .addOption(new Option('--here').hideHelp());
  onRun(doctor, async () => (await import('../doctor/doctor.ts')).doctorCommand, place);
}
