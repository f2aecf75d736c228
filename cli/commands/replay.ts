/** `millrace replay` on the command line. */
import { type Command, Option } from 'commander';
import { aRun, collect, ofRuns, onRun, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about: 'Recompute a run from its records, to verify it or to make a new run from it.',
  takes: aRun,
  declare: declareReplay,
};

async function declareReplay(it: Command, place: Place): Promise<void> {
  const { beginnings, toolModes } = await import('../../jobs/replay/index.ts');
  const replay = ofRuns(it, [
    'millrace replay first --verify',
    'millrace replay first --from scored --set reward=accuracy --into second',
    'millrace replay first --from selected --set keep=64 --into third --tools recorded-else-live',
  ])
    .option(
      '--verify',
      'recompute every record without calling tools and compare; exit code 1 if any differs',
    )
    .addOption(
      new Option(
        '--from <topic>',
        'make a new run: recompute this topic and all after it, keep the others as recorded',
      ).choices(beginnings),
    )
    .option('--into <NAME>', 'name of the new run')
    .option('--set <key=value>', 'override a setting (repeatable)', collect, [])
    .addOption(
      new Option('--tools <how>', 'where tool results come from')
        .choices(toolModes)
        .default('recorded'),
    )
    .option('--job <FILE>', 'job file (default: the one that the run was started with)');
  onRun(replay, async () => (await import('../replay/replay.ts')).replayCommand, place);
}
