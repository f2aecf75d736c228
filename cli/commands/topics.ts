/** `millrace topics` on the command line. */
import type { Command } from 'commander';
import { aRun, ofRuns, onRun, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about: 'List the topics of a run: records, size, and lag of each reading group.',
  takes: aRun,
  declare: declareTopics,
};

function declareTopics(it: Command, place: Place): void {
  const topics = ofRuns(it, ['millrace topics first']).option('--json', 'print one JSON object');
  onRun(topics, async () => (await import('../topics.ts')).topicsCommand, place);
}
