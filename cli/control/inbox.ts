/**
 * How commands reach a run: on Kafka as a record of its `control` topic, which anyone may write; otherwise as
 * a file in the run's folder, which the run's own process, the only writer of the log, appends to the topic.
 *
 * A file appears as a whole or not at all, its name says when it was asked, and it is removed once its record
 * is in the log. A process killed in between appends it again: readers ignore a second record with the same
 * id (streams/control.ts).
 */
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder, messageOf, replaceFile } from '../../base/index.ts';
import { jsonIn } from '../../base/text/index.ts';
import type { Log } from '../../streams/index.ts';
import { type ControlRecord, topics } from '../../topics/index.ts';
import { openRunLog, type Run } from '../runs.ts';

const requests = z
  .array(
    z.object({
      id: z.string().min(1).max(100),
      kind: z.enum(['set', 'pause', 'resume', 'stop']),
      setting: z.string(),
      value: z.string(),
      by: z.string(),
      askedMs: z.number(),
    }),
  )
  .min(1)
  .max(100);

const LOOK_MS = 200;

const inboxIn = (runFolder: string): string => join(runFolder, 'control');

let made = 0;

/** A command for a run, with its sender and time. */
export function asked(
  what: Pick<ControlRecord, 'kind'> & Partial<Pick<ControlRecord, 'setting' | 'value'>>,
  nowMs: number,
): ControlRecord {
  made += 1;
  const id = `${String(nowMs).padStart(15, '0')}-${hostname()}-${process.pid}-${made}`;
  return { id, setting: '', value: '', ...what, by: who(), askedMs: nowMs };
}

function who(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return hostname(); // a user without a name, as in some containers
  }
}

/** Puts commands where the run finds them, recorded in one commit. */
export async function put(run: Run, what: readonly ControlRecord[]): Promise<void> {
  const [first] = what;
  if (first === undefined) return;
  if ((run.log ?? run.record.log) === undefined) {
    const folder = inboxIn(run.folder);
    await makeFolder(folder);
    return replaceFile(join(folder, `${first.id}.json`), JSON.stringify(what));
  }
  // A worker name of its own: under one of the run's names it would take that worker's place.
  const worker = `control-${hostname().replace(/[^A-Za-z0-9_-]+/g, '-')}-${process.pid}`;
  const part = { only: [], worker };
  const log = await openRunLog({ ...run, part }, { mode: 'write' });
  try {
    await log.commit((tx) => {
      for (const one of what) tx.append(topics.control, one);
    });
  } finally {
    await log.close();
  }
}

/** Appends what arrives until the returned function is called, which resolves once no work is under way. */
export function takeIn(
  runFolder: string,
  log: Log,
  notice: (line: string) => void,
): () => Promise<void> {
  const folder = inboxIn(runFolder);
  let taking: Promise<void> | null = null;
  const look = (): void => {
    taking ??= takeAll(folder, log, notice)
      .catch((error: unknown) =>
        notice(`cannot read the commands for this run: ${messageOf(error)}`),
      )
      .finally(() => {
        taking = null;
      });
  };
  look();
  const looking = setInterval(look, LOOK_MS);
  return async () => {
    clearInterval(looking);
    await taking;
  };
}

async function takeAll(folder: string, log: Log, notice: (line: string) => void): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.endsWith('.json')).sort()) {
    const path = join(folder, name);
    const text = await readFile(path, 'utf8');
    const read = requests.safeParse(jsonIn(text));
    if (!read.success) {
      await rename(path, `${path}.bad`);
      notice(`${path} is not a command for a run; renamed it to ${name}.bad`);
      continue;
    }
    await log.commit((tx) => {
      for (const one of read.data) tx.append(topics.control, one);
    });
    await rm(path, { force: true });
  }
}
