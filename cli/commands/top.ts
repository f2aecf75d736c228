/** `millrace top` on the command line. */
import type { Command } from 'commander';
import { aRun, ofRuns, onRun, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about: 'Watch the stages of a live run: rates, records in flight, lag, waiting.',
  takes: aRun,
  declare: declareTop,
};

/** Width of a column's description, on 80 columns. */
const WIDTH = 68;

async function declareTop(it: Command, place: Place): Promise<void> {
  const { stageColumns } = await import('../../summary/tables/index.ts');
  const { wrapped } = await import('../../base/terminal/index.ts');
  const columns = stageColumns
    .flatMap(([label, about]) =>
      wrapped(about, WIDTH).map((line, i) => `  ${(i === 0 ? label : '').padEnd(8)}  ${line}`),
    )
    .join('\n');
  const top = ofRuns(it, [
    'millrace top first',
    'millrace top first --once',
    'millrace top first --interval 10s --json >> first.ndjson',
  ])
    .option('--interval <time>', 'time between updates', '2s')
    .option('--once', 'print once, measured over one interval, and exit')
    .option('--json', 'print one JSON object per interval')
    .addHelpText('after', `\nColumns:\n${columns}`);
  onRun(top, async () => (await import('../top/top.ts')).topCommand, place);
}
