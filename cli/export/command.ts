/** `millrace export` on the command line: its options and examples. */
import { type Command, Option } from 'commander';
import { collect, command, type Done } from '../command.ts';
import type { Io } from '../io.ts';
import { topicNames } from '../tap/patterns.ts';
import { exportCommand, exportFormats } from './export.ts';

export function addExport(program: Command, io: Io, done: Done): void {
  command(
    program,
    'export',
    'Write topics of a live or finished run into files for DuckDB, pandas and others.',
    [
      'millrace export first.rollouts',
      "millrace export 'first.*' --to parquet --out tables",
      'millrace export first.metrics --partition-by step --out tables',
      'millrace export first.scored --to jsonl --from 2h --question train-7',
    ],
  )
    .argument(
      '<topic...>',
      `<run>.<topic>, or <topic> of the newest run; * and ? are wildcards. Topics: ${topicNames.join(', ')}`,
    )
    .option('--run <NAME>', 'the run')
    .addOption(
      new Option('--to <format>', 'what the files are').choices(exportFormats).default('parquet'),
    )
    .option('--out <FOLDER>', 'where they go, as <run>.<topic>.<format>', '.')
    .option(
      '--partition-by <field>',
      'a folder with a file for each value of a field (step, version, question.id …)',
    )
    .option('--from <where>', 'begin at an offset, the last N, an age or a time, as tap does')
    .option('--until <where>', 'end before such a place')
    .option('--key <key>', 'only records with this key; may be repeated', collect)
    .option('--question <id>', 'only records about this question; may be repeated', collect)
    .action(async (topics: string[], { to: format, until, ...options }) =>
      done(
        await exportCommand(
          {
            ...options,
            ...(until === undefined ? {} : { to: until }),
            format: format === 'ndjson' ? 'jsonl' : format,
            topics,
          },
          io,
        ),
      ),
    );
}
