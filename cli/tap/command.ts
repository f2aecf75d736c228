/** `millrace tap` on the command line: its options and examples. */
import { type Command, Option } from 'commander';
import { command, type Done, whole } from '../command.ts';
import type { Io } from '../io.ts';
import { topicNames } from '../topicNamed.ts';
import { formatNames } from './formats.ts';
import { tapCommand } from './tap.ts';

export function addTap(program: Command, io: Io, done: Done): void {
  command(program, 'tap', 'Print the records of topics of a live or finished run.', [
    'millrace tap first.rollouts -n 5 -o ndjson',
    "millrace tap first.scored -f --where 'v.rewards.some((r) => r.score > 1)'",
    "millrace tap 'first.*' -f --sample 1/50 --stats",
    'millrace tap metrics --run first --fields step,name,value -o csv | head',
  ])
    .argument(
      '<topic...>',
      `<run>.<topic>, or a topic of the newest run; * and ? stand for others: ${topicNames.join(', ')}`,
    )
    .option('--run <NAME>', 'the run')
    .option(
      '--from <where>',
      'earliest, latest, offset (120), last (-100), age (15m), time (@2026-11-20T10:00); default: earliest, with -f latest',
    )
    .option('-f, --follow', 'go on at the end and wait for more')
    .option('-n, --count <N>', 'stop after so many records', whole)
    .option(
      '--where <expression>',
      'JavaScript over v (record), k (key), t (topic), p (partition), o (offset); runs with your rights: only what you wrote yourself',
    )
    .option(
      '--fields <a,b.c>',
      'only these parts; $topic, $partition, $offset, $key, $at are of the envelope',
    )
    .option('--sample <share>', 'of the keys (0.1, 10%, 1/10), the same ones in every topic')
    .option(
      '--rate <N/s>',
      'print at most so many (50/s, 600/m); the others are dropped and counted',
    )
    .option(
      '--stats [every]',
      'records/s, bytes/s and distance to the end, on stderr (default: 1s)',
    )
    .option('--envelope', 'ndjson and csv: put topic, offset, key and time around the record')
    .addOption(
      new Option('-o, --output <format>', 'how to print').choices(formatNames).default('pretty'),
    )
    .action(async (topics: string[], options) =>
      done(await tapCommand({ ...options, topics }, io)),
    );
}
