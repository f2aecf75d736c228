/** `millrace export` on the command line. */
import { type Command, Option } from 'commander';
import { collect, ofRuns, type Place, type Subcommand, topicPatterns } from '../command.ts';

export const command: Subcommand = {
  about: 'Export topics of a live or finished run to files for DuckDB, pandas and others.',
  takes: topicPatterns,
  declare: declareExport,
};

async function declareExport(it: Command, { io, done }: Place): Promise<void> {
  const { exportFormats } = await import('../export/formats.ts');
  const { topicNames } = await import('../tap/patterns.ts');
  it.registeredArguments[0]!.description += `. Topics: ${topicNames.join(', ')}`;
  ofRuns(it, [
    'millrace export first.rollouts',
    "millrace export 'first.*' --to parquet --out tables",
    'millrace export first.metrics --partition-by step --out tables',
    'millrace export first.questions first.rollouts --schema verl --out rl_datasets',
    'millrace export first.rollouts --schema atif',
    'millrace export first.scored --to jsonl --from 2h --question train-7',
  ])
    .option('--run <NAME>', 'the run')
    .addOption(new Option('--to <format>', 'file format').choices(exportFormats).default('parquet'))
    .option('--out <FOLDER>', 'folder for the files <run>.<topic>.<format>', '.')
    .addOption(
      new Option(
        '--schema <NAME>',
        'verl: questions as train_processed_stage<N>.parquet, one per round, rollouts as <step>.jsonl; atif: rollouts as <run>.atif.jsonl; inspect: scored groups as <run>.<phase>-<round>.eval',
      ).choices(['verl', 'atif', 'inspect']),
    )
    .option(
      '--partition-by <field>',
      'write a folder with one file per value of a field (step, version, question.id …)',
    )
    .option('--from <where>', 'start at an offset, the last N, an age or a time, as in tap')
    .option('--until <where>', 'stop before such a position')
    .option('--key <key>', 'only records with this key (repeatable)', collect)
    .option('--question <id>', 'only records about this question (repeatable)', collect)
    .action(async (topics: string[], { to: format, until, ...options }) => {
      const { exportCommand } = await import('../export/export.ts');
      const range = until === undefined ? {} : { to: until };
      const written = format === 'ndjson' ? 'jsonl' : format;
      done(await exportCommand({ ...options, ...range, format: written, topics }, io));
    });
}
