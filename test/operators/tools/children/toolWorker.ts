/**
 * A process that answers tool calls until it is killed. Usage: toolWorker.ts <url> <run> <worker>. Prints
 * `ready` once it reads.
 */
import { callTools } from '../../../../operators/callTools.ts';
import { answerCalls, toolTopics } from '../../../../operators/tools/throughTopics.ts';
import { flow } from '../../../../streams/flow.ts';
import { openKafkaLog } from '../../../../streams/kafka/openKafkaLog.ts';
import { runFlow } from '../../../../streams/run/runFlow.ts';
import { stage } from '../../../../streams/stage.ts';
import { manualClock } from '../../../../testing/manualClock.ts';
import { allTopics } from '../../../../topics/index.ts';

const [, , url, run, worker] = process.argv;
const log = await openKafkaLog({
  topics: allTopics,
  ...{ url: url!, run: run!, worker: worker!, mode: 'write' },
  ...{ sessionMs: 6000, drainMs: 5000 },
});
const upper = {
  ...{ name: 'upper', about: 'Writes in capitals.', concurrencyMax: 2, pure: false },
  run: async (input: string) => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return { output: input.toUpperCase(), ok: true };
  },
  close: async () => undefined,
};
const answers = answerCalls(callTools([upper], { clock: manualClock() }), { concurrency: 4 });
console.log('ready');
await runFlow(flow(stage('tools', toolTopics.requests, toolTopics.replies, answers)), {
  ...{ log, forever: true },
});
