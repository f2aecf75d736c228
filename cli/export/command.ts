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
    'Export topics of a live or finished run to files for DuckDB, pandas and others.',
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
    .addOption(new Option('--to <format>', 'file format').choices(exportFormats).default('parquet'))
    .option('--out <FOLDER>', 'folder for the files <run>.<topic>.<format>', '.')
    .option(
      '--partition-by <field>',
      'write a folder with one file per value of a field (step, version, question.id …)',
    )
    .option('--from <where>', 'start at an offset, the last N, an age or a time, as in tap')
    .option('--until <where>', 'stop before such a position')
    .option('--key <key>', 'only records with this key (repeatable)', collect)
    .option('--question <id>', 'only records about this question (repeatable)', collect)
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
