/** `millrace mirror` on the command line. */
import type { Command } from 'commander';
import { collect, command, type Done } from '../command.ts';
import type { Io } from '../io.ts';
import { mirrorCommand } from './mirror.ts';

export function addMirror(program: Command, io: Io, done: Done): void {
  command(
    program,
    'mirror',
    'Follow a run and copy its topics to another Kafka cluster, as JSON or Avro; the same command resumes it.',
    [
      'millrace mirror first kafka://broker:9092/first',
      "millrace mirror first 'kafka://broker:9092/lab.first?registry=http://registry:8081' --topic metrics --topic scored",
      'millrace mirror first kafka://broker:9092 --once',
    ],
  )
    .argument('<run>', 'the run')
    .argument(
      '<address>',
      'kafka://host:port/prefix: topics are <prefix>.<topic> (default prefix: the run’s name); Avro with ?registry=URL, else JSON',
    )
    .option('--topic <name>', 'only this topic; * and ? are wildcards (repeatable)', collect)
    .option('--once', 'stop at the current end of the topics instead of waiting for more')
    .action(async (run: string, address: string, { topic, ...options }) =>
      done(
        await mirrorCommand(
          { ...options, ...(topic === undefined ? {} : { topics: topic }), run, address },
          io,
        ),
      ),
    );
}
