/**
 * Keeps a run from being started twice by mistake. In a folder the log's lock does that; on Kafka a new
 * process replaces the one with its name, so we first check whether that one is alive.
 *
 * A process is alive if it reports anything while we listen: no clocks are compared. One killed on this
 * machine is known to be gone at once, one elsewhere after some seconds. Two that start within the same
 * second do not see each other.
 */
import { hostname } from 'node:os';
import {
  hasCode,
  isRunning,
  MillraceError,
  type SleepClock,
  sleepClock,
  systemClock,
} from '../base/index.ts';
import type { Flow, Log } from '../streams/index.ts';
import type { WorkerStatus } from '../streams/run/index.ts';
import { openRunLog, type Run } from './runs.ts';

/** Processes report their status once a second: one with nothing new in this many checks is not alive. */
const LOOKS = 14;
const LOOK_MS = 250;

/** The name of this process among those that share the run. */
export function workerOf({ part }: Run): string {
  return part?.worker ?? 'main';
}

/** Fails with code `LOCKED` if a process with our name is alive. Called before the log is opened to write. */
export async function mustBeFree(run: Run, notice: (line: string) => void): Promise<void> {
  if (!onKafka(run)) return;
  const log = await openRunLog(run, { mode: 'read', notice }).catch((error: unknown) => {
    if (hasCode(error, 'NO_LOG')) return null;
    throw error;
  });
  if (log === null) return;
  const worker = workerOf(run);
  const other = await alive(log, (status) => status.worker === worker).finally(() => log.close());
  if (other !== null) throw locked(run, other, `as worker "${worker}"`);
}

/** Fails with code `LOCKED` if any process runs this. Called before the log is opened to write. */
export async function mustBeIdle(run: Run): Promise<void> {
  if (!onKafka(run)) return;
  const log = await openRunLog(run, { mode: 'read' });
  const other = await alive(log, () => true).finally(() => log.close());
  if (other === null) return;
  const { pid, host, worker } = other;
  throw new MillraceError(
    'LOCKED',
    `process ${pid} on host ${host} is running ${run.name} as worker "${worker}"; stop it first`,
    { context: { run: run.name, pid, host } },
  );
}

/** Whether any process of this run, whose records are on Kafka, gives a sign of life. */
export async function isWorkedOn(run: Run): Promise<boolean> {
  const log = await openRunLog(run, { mode: 'read' });
  return gaveSign(log).finally(() => log.close());
}

/** A process on this machine is seen at once, however long its broker takes; for others we listen. */
export async function gaveSign(
  log: Pick<Log, 'posted'>,
  clock = sleepClock(systemClock),
): Promise<boolean> {
  const posts = ((await log.posted?.()) ?? []).map((post) => post as WorkerStatus);
  const isHere = posts.some(
    ({ ended, host, pid }) => !ended && host === hostname() && isRunning(pid),
  );
  if (isHere) return true;
  return (await alive(log, () => true, { isGone: hasEnded, clock })) !== null;
}

/** Fails with code `LOCKED` if another process runs one of our sources: its items would come twice. */
export async function mustHaveSources(
  run: Run,
  { sources }: Flow,
  log: Log,
  clock = sleepClock(systemClock),
): Promise<void> {
  if (!onKafka(run) || sources.length === 0) return;
  const worker = workerOf(run);
  const names = sources.map(({ name }) => name);
  const other = await alive(
    log,
    (status) => status.worker !== worker && status.sources.some(({ name }) => names.includes(name)),
    { clock },
  );
  if (other === null) return;
  const shared = other.sources.map(({ name }) => name).filter((name) => names.includes(name));
  throw locked(run, other, `with its source ${shared.join(', ')}`);
}

function onKafka({ log, record }: Run): boolean {
  return (log ?? record.log) !== undefined;
}

interface Listening {
  readonly isGone?: (status: WorkerStatus) => boolean;
  readonly clock?: SleepClock;
}

/** The status of a running process for which `is` is true; null if none reports. */
async function alive(
  log: Pick<Log, 'posted'>,
  is: (status: WorkerStatus) => boolean,
  { isGone = isOursOrEnded, clock = sleepClock(systemClock) }: Listening = {},
): Promise<WorkerStatus | null> {
  const matching = async (): Promise<readonly WorkerStatus[]> =>
    ((await log.posted?.()) ?? []).map((post) => post as WorkerStatus).filter(is);
  const before = (await matching()).filter((status) => !status.ended && !isGone(status));
  const heard = new Set(before.map((status) => JSON.stringify(status)));
  // Counts checks, not time: while the broker or this machine stalls, no process is heard.
  for (let look = 0; look < LOOKS && before.length > 0; look++) {
    await clock.sleep(LOOK_MS);
    const found = (await matching()).find(
      (status) => !status.ended && !isGone(status) && !heard.has(JSON.stringify(status)),
    );
    if (found !== undefined) return found;
  }
  return null;
}

function hasEnded({ host, pid }: WorkerStatus): boolean {
  return host === hostname() && !isRunning(pid);
}

/** A status from this process's previous life is not another process. */
function isOursOrEnded(status: WorkerStatus): boolean {
  return (status.host === hostname() && status.pid === process.pid) || hasEnded(status);
}

function locked({ name }: Run, { pid, host }: WorkerStatus, how: string): MillraceError {
  return new MillraceError(
    'LOCKED',
    `process ${pid} on host ${host} is already running ${name} ${how}; stop it first. To share the run, give each process its own part ` +
      'with --only or --except, and its own name with --worker',
    { context: { run: name, pid, host } },
  );
}
