/**
 * One worker of several: gathers the three questions of each id into a metric, until it is killed.
 * Usage: gatherer.ts <url> <run> <worker>. Prints `ready` once it reads, then how many
 * records wait in its open groups.
 */
import { pipe } from 'rxjs';
import { flow } from '../../../../streams/flow.ts';
import { openKafkaLog } from '../../../../streams/kafka/openKafkaLog.ts';
import { gatherBy, mapEach } from '../../../../streams/primitives.ts';
import { type FlowStats, runFlow } from '../../../../streams/run/runFlow.ts';
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
  drainMs: 60_000,
});
let waiting = 0;
const onStats = ({ stages }: FlowStats): void => {
  const [now = 0] = stages.map((stats) => stats.waiting);
  if (now !== waiting) console.log(now);
  waiting = now;
};
console.log('ready');
await runFlow(
  flow(
    stage(
      'gather',
      topics.questions,
      topics.metrics,
      pipe(
        gatherBy({ key: ({ id }) => id, size: 3, openMax: 1000 }),
        mapEach(
          async (members) => {
            await new Promise((resolve) => setTimeout(resolve, 2));
            return metric({ name: members[0]!.id, value: members.length });
          },
          { concurrency: 4 },
        ),
      ),
      { inflightMax: 2000 },
    ),
  ),
  { log, forever: true, statsMs: 20, onStats },
);
