/** `millrace mirror` on the command line. */
import type { Command } from 'commander';
import { collect, ofRuns, type Place, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about:
    'Follow a run and copy its topics to another Kafka cluster, as JSON or Avro; the same command resumes it.',
  takes: {
    '<run>': 'the run',
    '<address>':
      'kafka://host:port/prefix: topics are <prefix>.<topic> (default prefix: the run’s name); Avro with ?registry=URL, otherwise JSON',
  },
  declare: declareMirror,
};

function declareMirror(it: Command, { io, done }: Place): void {
  ofRuns(it, [
    'millrace mirror first kafka://broker:9092/first',
    "millrace mirror first 'kafka://broker:9092/lab.first?registry=http://registry:8081' --topic metrics --topic scored",
    'millrace mirror first kafka://broker:9092 --once',
  ])
    .option('--topic <name>', 'only this topic; * and ? are wildcards (repeatable)', collect)
    .option('--once', 'stop at the current end of the topics instead of waiting for more')
    .action(async (run: string, address: string, { topic, ...options }) => {
      const { mirrorCommand } = await import('../mirror/mirror.ts');
      const topics = topic === undefined ? {} : { topics: topic };
      done(await mirrorCommand({ ...options, ...topics, run, address }, io));
    });
}
