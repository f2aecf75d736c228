/**
 * A job of one round over questions without an end: asks `count` of them, after two that are held out, and
 * ends. Usage: askAll.ts LOG RUN SETTING COUNT. Prints a line for every tenth question that is in the log,
 * then `done`.
 */
import { systemClock } from '../../../../base/clock.ts';
import { sleepClock } from '../../../../base/sleepClock.ts';
import { planQuestions } from '../../../../jobs/planQuestions.ts';
import { endlessFrom } from '../../../../sources/endless/fromSetting.ts';
import { flow } from '../../../../streams/flow.ts';
import { openAnyLog } from '../../../../streams/openAnyLog.ts';
import { mapEach } from '../../../../streams/primitives.ts';
import { runFlow } from '../../../../streams/run/runFlow.ts';
import { sink, source } from '../../../../streams/stage.ts';
import { allTopics, topics } from '../../../../topics/index.ts';

const [at = '', run = '', setting = '', count = ''] = process.argv.slice(2);
const log = await openAnyLog({ topics: allTopics, at, run, mode: 'write' });
const print = (line: string): void => console.error(line);
const train = endlessFrom(setting, { clock: sleepClock(systemClock), env: process.env, print });
const round = { name: 'all', phase: 'explore', count: Number(count), skip: 0 } as const;
const plan = await planQuestions({ train }, () => [round], {
  heldOut: 2,
  seed: 1,
  log,
  clock: systemClock,
  print: () => undefined,
});
let seen = 0;
const counted = mapEach(
  (value: unknown) => {
    seen += 1;
    if (seen % 10 === 0) console.log(`seen ${seen}`);
    return value;
  },
  { concurrency: 1 },
);
await runFlow(
  flow(
    source('questions', topics.questions, plan.items),
    sink('reader', topics.questions, null, counted as never),
  ),
  { log },
);
await log.close();
console.log('done');
