/**
 * `tensorBoard`: the metrics of a run as event files that TensorBoard reads, in a folder of the run's own:
 * step and name as they are, the time of the record.
 *
 * Every start begins a new file, and continues after the last event in the files of the run. A run of the
 * same name that began at another time (it was started over) gets a folder of its own, `NAME.2`, since its
 * steps would overlap those of the other; so does a rewound run, by its own name.
 */
import { constants } from 'node:fs';
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type Clock, makeFolder, writingTo } from '../../base/index.ts';
import type { Stored } from '../../streams/index.ts';
import type { Metric } from '../../topics/index.ts';
import { advanced, BEGINNING, type Cursor } from '../outside/cursor.ts';
import type { MetricTarget, RunAbout } from '../outside/exportMetrics.ts';
import { fileEvent, originsIn, scalarEvent, textEvent } from './events.ts';

export interface TensorBoardOptions {
  /** The log directory that TensorBoard is given. */
  readonly folder: string;
  readonly clock: Clock;
}

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants;
const NAME = /^events\.out\.tfevents\.(\d+)\.millrace$/;

/** metrics → `FOLDER/RUN/events.out.tfevents.…`. */
export function tensorBoard(
  about: RunAbout,
  { folder, clock }: TensorBoardOptions,
): MetricTarget & { readonly folder: () => string } {
  let held: Held = { folder: join(folder, about.run), cursor: BEGINNING, last: 0, startedMs: null };
  let path: string | null = null;
  const begin = async (): Promise<string> => {
    await makeFolder(held.folder);
    const seconds = Math.max(Math.floor(clock.now() / 1000), held.last + 1);
    const name = `events.out.tfevents.${String(seconds).padStart(10, '0')}.millrace`;
    const first = [fileEvent(about.startedMs, clock.now())];
    if (held.startedMs === null) first.push(textEvent('run', described(about), about.startedMs));
    const made = join(held.folder, name);
    await append(made, Buffer.concat(first), O_EXCL);
    return made;
  };
  return {
    folder: () => held.folder,
    async open() {
      held = await find(folder, about);
      return held.cursor;
    },
    async write(batch: readonly Stored<Metric>[]) {
      path ??= await begin();
      await append(path, Buffer.concat(batch.map(scalarEvent)));
    },
    close: async () => undefined,
  };
}

/** The run's files in a folder. */
interface Held {
  readonly folder: string;
  readonly cursor: Cursor;
  /** Number of its newest file; 0 = none. */
  readonly last: number;
  /** The run whose events are here; null if there are none. */
  readonly startedMs: number | null;
}

/** The folder of this run, or a free one. */
async function find(root: string, { run, startedMs }: RunAbout): Promise<Held> {
  for (let number = 1; ; number++) {
    const held = await look(join(root, number === 1 ? run : `${run}.${number}`));
    if (held.startedMs === null || held.startedMs === startedMs) return held;
  }
}

async function look(folder: string): Promise<Held> {
  const entries = await readdir(folder).catch(() => []);
  const numbers = entries.flatMap((name) => NAME.exec(name)?.[1] ?? []).sort();
  let cursor = BEGINNING;
  let startedMs: number | null = null;
  for (const number of numbers) {
    const file = await readFile(join(folder, `events.out.tfevents.${number}.millrace`));
    for (const origin of originsIn(file)) {
      startedMs ??= origin.startedMs;
      const { position, atMs } = origin;
      if (position !== null) cursor = advanced(cursor, [{ position, atMs }]);
    }
  }
  return { folder, cursor, last: Number(numbers.at(-1) ?? 0), startedMs };
}

/** Markdown, with settings as a block, so that nothing in them is read as markup. */
function described({ run, job, seed, millrace, settings }: RunAbout): string {
  const block = stringify(settings).replace(/^/gm, '    ');
  return `Run ${run} of ${job}, seed ${seed}, millrace ${millrace}.\n\n${block}\n`;
}

/** Only the owner may read it. */
async function append(path: string, bytes: Buffer, flags = 0): Promise<void> {
  const file = await open(path, O_APPEND | O_CREAT | O_WRONLY | flags, 0o600);
  await writingTo(path, () => file.appendFile(bytes).finally(() => file.close()));
}
