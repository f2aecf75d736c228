/** `millrace top` on the command line: its options and examples. */
import type { Command } from 'commander';
import { stageColumns } from '../../summary/tables/index.ts';
import { command, type Done, onRun } from '../command.ts';
import type { Io } from '../io.ts';
import { topCommand } from './top.ts';

const columns = stageColumns.map(([label, about]) => `  ${label.padEnd(8)}  ${about}`).join('\n');

export function addTop(program: Command, io: Io, done: Done): void {
  const top = command(
    program,
    'top',
    'Watch the stages of a live run: rates, records in flight, lag, waiting.',
    [
      'millrace top first',
      'millrace top first --once',
      'millrace top first --interval 10s --json >> first.ndjson',
    ],
  )
    .option('--interval <time>', 'time between updates', '2s')
    .option('--once', 'print once, measured over one interval, and exit')
    .option('--json', 'print one JSON object per interval')
    .addHelpText('after', `\nColumns:\n${columns}`);
  onRun(top, topCommand, io, done);
}
