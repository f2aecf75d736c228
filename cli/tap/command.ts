/** `millrace tap` on the command line: its options and examples. */
import type { Command } from 'commander';
import { collect, command, type Done, whole } from '../command.ts';
import type { Io } from '../io.ts';
import { formatNames } from './formats.ts';
import { topicNames } from './patterns.ts';
import { TRUNCATE } from './pretty.ts';
import { tapCommand } from './tap.ts';
import { templateLetters } from './template.ts';

const lines = [
  "-o takes a line of one's own too, for example '%t[%p]@%o %T %k %s\\n':",
  templateLetters,
];

export function addTap(program: Command, io: Io, done: Done): void {
  command(program, 'tap', 'Print the records of topics of a live or finished run.', [
    'millrace tap first.rollouts -n 5 -o ndjson',
    "millrace tap first.scored -f --where 'v.rewards.some((r) => r.score > 1)'",
    "millrace tap 'first.*' -f --sample 1/50 --stats",
    "millrace tap first.rollouts --from 2h --to 1h --grep '/no result/i' --truncate 200",
    'millrace tap first.scored --diff --fields rewards.score,toolCalls',
    'millrace tap metrics --run first --fields step,name,value -o csv | head',
  ])
    .argument(
      '<topic...>',
      `<run>.<topic>, or a topic of the newest run; * and ? stand for others: ${topicNames.join(', ')}, and those that a job defines itself`,
    )
    .option('--run <NAME>', 'the run')
    .option(
      '--from <where>',
      'earliest, latest, offset (120), last (-100), age (15m), time (@2026-11-20T10:00); default: earliest, with -f latest',
    )
    .option(
      '--to <where>',
      'end before latest, offset (120), last (-100), age (15m), time (@2026-11-20T10:00); not with -f',
    )
    .option('-f, --follow', 'go on at the end and wait for more')
    .option('-n, --count <N>', 'stop after so many records', whole)
    .option('--partition <0,2>', 'only of these partitions')
    .option('--key <key>', 'only records of this key; may be repeated', collect)
    .option('--key-prefix <text>', 'only keys that begin so; may be repeated', collect)
    .option(
      '--grep <RE>',
      'those of which the key, or a text anywhere within, matches; /RE/i with flags',
    )
    .option(
      '--where <expression>',
      'JavaScript over v (record), k (key), t (topic), p (partition), o (offset); runs with your rights: only what you wrote yourself',
    )
    .option(
      '--fields <a,b.c>',
      'only these parts; $topic, $partition, $offset, $key, $at are of the envelope',
    )
    .option('--diff', 'only what is different from the record before it of the same key')
    .option('--sample <share>', 'of the keys (0.1, 10%, 1/10), the same ones in every topic')
    .option(
      '--rate <N/s>',
      'print at most so many (50/s, 600/m); the others are dropped and counted',
    )
    .option(
      '--stats [every]',
      'records/s, bytes/s and distance to the end, on stderr (default: 1s)',
    )
    .option('--envelope', 'ndjson, json and csv: put topic, offset, key and time around the record')
    .option(
      '--truncate <N>',
      `pretty: cut texts after so many characters (default: ${TRUNCATE}; 0: nowhere)`,
      whole,
    )
    .option(
      '-o, --output <format>',
      `how to print: ${formatNames.join(', ')}, or a line with %`,
      'pretty',
    )
    .addHelpText('after', `\n${lines.join('\n')}`)
    .action(async (topics: string[], options) =>
      done(await tapCommand({ ...options, topics }, io)),
    );
}
