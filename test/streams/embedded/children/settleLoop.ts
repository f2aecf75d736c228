/**
 * Reads questions and commits one metric (the offset) for each, out of order, until it is killed.
 * Every third question is split in two metrics; every seventh is dropped with a dead letter.
 * Usage: settleLoop.ts <folder>. Prints `ready` once it reads.
 */
import { openLog } from '../../../../streams/embedded/openLog.ts';
import { flow } from '../../../../streams/flow.ts';
import { expandEach } from '../../../../streams/primitives.ts';
import { runFlow } from '../../../../streams/run/runFlow.ts';
import { source, stage } from '../../../../streams/stage.ts';
import { topics } from '../../../../topics/index.ts';
import { metric, question } from '../../../support/records.ts';

async function* questions() {
  for (let i = 0; ; i++) yield { value: question({ id: `q${i}` }) };
}

const log = await openLog({ folder: process.argv[2]!, mode: 'write' });
console.log('ready');
await runFlow(
  flow(
    source('questions', topics.questions, questions(), { leadMax: 500 }),
    stage(
      'work',
      topics.questions,
      topics.metrics,
      expandEach(
        async (_value, scope) => {
          const { offset } = scope.position;
          for (let turn = (offset * 7) % 5; turn >= 0; turn--) {
            await new Promise((resolve) => setImmediate(resolve));
          }
          if (offset % 7 === 0) throw new Error('seventh');
          const made = metric({ name: 'offset', value: offset });
          return offset % 3 === 0 ? [made, made] : [made];
        },
        { concurrency: 16 },
      ),
      { inflightMax: 64 },
    ),
  ),
  { log },
);
