/**
 * One life of the job: `child.ts {JSON of Life}`. Ends with 0 when the run is done, or dies at its point.
 *
 * It says when the log is open; the last line of its output tells how often each point was reached.
 */
import { join } from 'node:path';
import type { Log } from '../../streams/log.ts';
import { openAnyLog } from '../../streams/openAnyLog.ts';
import { runFlow } from '../../streams/runFlow.ts';
import { mortalJob, settings, type Trainer } from './job.ts';
import { type Destiny, destiny, type Fate } from './points.ts';
import { OPENED } from './subject.ts';

export interface Life {
  readonly folder: string;
  /** Null: the embedded log, in the folder. */
  readonly kafka: { readonly url: string; readonly run: string } | null;
  readonly trainer: Trainer;
  /** Another order in which things are finished. */
  readonly timing: number;
  readonly fate: Fate | null;
}

const life = JSON.parse(process.argv[2]!) as Life;

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // The signal is on its way; nothing more of this process may happen.
  for (;;);
}

function mortal(log: Log, fate: Destiny): Log {
  const standing = log.standing?.bind(log);
  return {
    read: (topic, options) => log.read(topic, options),
    fetch: (topic, positions) => log.fetch(topic, positions),
    tap: (topic, options) => log.tap(topic, options),
    mark: (name) => log.mark(name),
    lag: (topic, group) => log.lag(topic, group),
    stats: () => log.stats(),
    close: () => log.close(),
    ...(standing === undefined ? {} : { standing }),
    async commit(write) {
      const committing = log.commit(write);
      committing.catch(() => undefined);
      await fate.reach('committing');
      await committing;
      await fate.reach('committed');
    },
  };
}

const { folder, kafka, trainer, timing } = life;
const fate = destiny(life.fate, die);
const real =
  kafka === null
    ? await openAnyLog({ at: join(folder, 'log'), run: 'chaos', mode: 'write' })
    : await openAnyLog({ at: kafka.url, run: kafka.run, mode: 'write' });
console.log(OPENED);
await fate.reach('opened');
const log = mortal(real, fate);
const owned: { close(): Promise<void> }[] = [];
const context = {
  ...{ run: 'chaos', folder, seed: 7, settings, log, clock: { now: () => Date.now() } },
  print: () => undefined,
  own: <T extends { close(): Promise<void> }>(resource: T): T => {
    owned.push(resource);
    return resource;
  },
};
await runFlow(await mortalJob(context, trainer, fate, timing), { log });
for (const resource of owned.reverse()) await resource.close();
await real.close();
console.log(JSON.stringify(fate.reached));
