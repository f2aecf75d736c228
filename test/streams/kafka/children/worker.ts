/**
 * One worker of several: reads questions and commits a metric with the number of each, out of order, until
 * it is killed. Every third is split in two metrics; every seventh is dropped with a dead letter.
 * Usage: worker.ts <url> <run> <worker>. Prints `ready` once it reads.
 */
import { flow } from '../../../../streams/flow.ts';
import { openKafkaLog } from '../../../../streams/kafka/openKafkaLog.ts';
import { expandEach } from '../../../../streams/primitives.ts';
import { runFlow } from '../../../../streams/run/runFlow.ts';
import { stage } from '../../../../streams/stage.ts';
import { allTopics, topics } from '../../../../topics/index.ts';
import { metric } from '../../../support/records.ts';

const [, , url, run, worker] = process.argv;
const log = await openKafkaLog({
  topics: allTopics,
  url: url!,
  run: run!,
  worker: worker!,
  mode: 'write',
  sessionMs: 6000,
  drainMs: 5000,
});
console.log('ready');
await runFlow(
  flow(
    stage(
      'work',
      topics.questions,
      topics.metrics,
      expandEach(
        async ({ id }) => {
          const number = Number(id.slice(1));
          for (let turn = (number * 7) % 5; turn >= 0; turn--) {
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
          if (number % 7 === 0) throw new Error(`seventh ${id}`);
          const made = metric({ name: worker!, value: number });
          return number % 3 === 0 ? [made, made] : [made];
        },
        { concurrency: 4 },
      ),
      { inflightMax: 16 },
    ),
  ),
  { log, forever: true },
);
