/** `millrace tap` on the command line. */
import type { Command } from 'commander';
import { collect, ofRuns, type Place, type Subcommand, topicPatterns, whole } from '../command.ts';

export const command: Subcommand = {
  about: 'Print the records of topics of a live or finished run.',
  takes: topicPatterns,
  declare: declareTap,
};

async function declareTap(it: Command, { io, done }: Place): Promise<void> {
  const { formatNames } = await import('../tap/formats.ts');
  const { topicNames } = await import('../tap/patterns.ts');
  const { TRUNCATE } = await import('../tap/pretty.ts');
  it.registeredArguments[0]!.description +=
    `. Topics: ${topicNames.join(', ')}, and those that a job defines itself`;
  ofRuns(it, [
    'millrace tap first.rollouts -n 5 -o ndjson',
    "millrace tap first.scored -f --where 'v.rewards.some((r) => r.score > 1)'",
    "millrace tap 'first.*' --question train-7",
    "millrace tap 'first.*' -f --key-prefix train-7 --stats",
    "millrace tap first.rollouts --from 2h --to 1h --grep '/no result/i' --truncate 200",
    'millrace tap first.scored --diff --fields rewards.score,toolCalls',
    'millrace tap metrics --run first --fields step,name,value -o csv | head',
  ])
    .option('--run <NAME>', 'the run (default: the newest)')
    .option(
      '--from <where>',
      'start at earliest, latest, an offset (120), the last N (-100), an age (15m) or a time (@2026-11-20T10:00); default: earliest, with -f latest',
    )
    .option('--to <where>', 'stop before such a position; not with -f')
    .option('-f, --follow', 'wait for new records at the end')
    .option('-n, --count <N>', 'stop after N records', whole)
    .option('--partition <0,2>', 'only these partitions')
    .option('--key <key>', 'only records with this key (repeatable)', collect)
    .option('--question <id>', 'only records about this question (repeatable)', collect)
    .option('--key-prefix <text>', 'only records whose key starts with this (repeatable)', collect)
    .option(
      '--grep <RE>',
      'only records whose key or any text matches a regular expression; use /RE/i for flags',
    )
    .option(
      '--where <expression>',
      'only records for which a JavaScript expression over v (record), k (key), t (topic), p (partition), o (offset) is true; it runs with your permissions, so use only expressions you trust',
    )
    .option(
      '--fields <a,b.c>',
      'only these fields; $topic, $partition, $offset, $key and $at are a record’s metadata',
    )
    .option('--diff', 'only what changed since the previous record with the same key')
    .option(
      '--stats [every]',
      'print records/s, bytes/s and how far behind the end the tap is, on stderr (default: every 1s)',
    )
    .option(
      '--envelope',
      'with ndjson, json and csv: add topic, offset, key and time to each record',
    )
    .option(
      '--truncate <N>',
      `with pretty: cut texts after N characters (default: ${TRUNCATE}; 0 = never)`,
      whole,
    )
    .option('-o, --output <format>', `output format: ${formatNames.join(', ')}`, 'pretty')
    .action(async (topics: string[], options) => {
      const { tapCommand } = await import('../tap/tap.ts');
      done(await tapCommand({ ...options, topics }, io));
    });
}
