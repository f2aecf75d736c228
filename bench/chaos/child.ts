/**
 * One attempt at the job: `child.ts {JSON of Attempt}`. Ends with code 0 when the run is done, or is killed
 * at its point.
 *
 * It says when the log is open; the last line of its output says how often each point was reached.
 */
import { join } from 'node:path';
import { openAnyLog } from '../../streams/openAnyLog.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import { allTopics } from '../../topics/index.ts';
import { withCommit } from '../withCommit.ts';
import { type Attempt, OPENED } from './attempt.ts';
import { killableJob, settings } from './job.ts';
import { killSwitch } from './points.ts';

const attempt = JSON.parse(process.argv[2]!) as Attempt;

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // The signal is on its way; this process must do nothing more.
  for (;;);
}

const { folder, kafka, trainer, timing } = attempt;
const points = killSwitch(attempt.kill, die);
const real =
  kafka === null
    ? await openAnyLog({ topics: allTopics, at: join(folder, 'log'), run: 'chaos', mode: 'write' })
    : await openAnyLog({ topics: allTopics, at: kafka.url, run: kafka.run, mode: 'write' });
console.log(OPENED);
await points.reach('opened');
const log = withCommit(real, async (write) => {
  const committing = real.commit(write);
  committing.catch(() => undefined);
  await points.reach('committing');
  await committing;
  await points.reach('committed');
});
const owned: { close(): Promise<void> }[] = [];
const context = {
  run: 'chaos',
  folder,
  seed: 7,
  settings,
  log,
  clock: { now: () => Date.now() },
  print: () => undefined,
  own: <T extends { close(): Promise<void> }>(resource: T): T => {
    owned.push(resource);
    return resource;
  },
};
await runFlow(await killableJob(context, trainer, points, timing), { log });
for (const resource of owned.reverse()) await resource.close();
await real.close();
console.log(JSON.stringify(points.reached));
