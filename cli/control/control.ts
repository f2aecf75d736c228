/**
 * `millrace set|pause|resume|stop RUN`: controls a running run from another terminal or, with records on
 * Kafka, another machine.
 *
 * A command becomes a record of the run's `control` topic and returns once the record is there: it holds even
 * if the run is killed before it obeys. Repeating a command is not an error. A run that is not running
 * accepts none (`NOT_RUNNING`).
 */
import { MillraceError } from '../../base/index.ts';
import { jsonText } from '../../base/terminal/index.ts';
import { writerOf } from '../../streams/embedded/index.ts';
import { type Log, recordsOf } from '../../streams/index.ts';
import { type ControlRecord, firstStepOf, topics } from '../../topics/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import { jobOf } from '../foreign.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { didYouMean, nearestNames } from '../nearest.ts';
import { asTyped } from '../programName.ts';
import { readRunRecord } from '../runRecord.ts';
import { findRun, logFolder, openRunLog, type Run, withLog } from '../runs.ts';
import { knownSettings } from '../settingFields.ts';
import { checkSettings, listedBy, parseSetting } from '../settings.ts';
import { isWorkedOn } from '../startGuard.ts';
import { type Change, changesOf, controlsOf, lagMaxOf } from './changes.ts';
import { asked, put } from './inbox.ts';

export interface ControlOptions {
  readonly run?: string;
  readonly runs: string;
  readonly json?: boolean;
}

/** How long the run may take to record a command, and how often to check. */
const RECORDED_MS = 20_000;
const LOOK_MS = 100;
const ENDED_MS = 10_000;

/** `pause` and `resume`. */
export async function pauseCommand(
  kind: 'pause' | 'resume',
  options: ControlOptions,
  io: Io,
): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  await mustRun(run, io);
  const before = await withLog(run, pausedNow);
  if (before !== (kind === 'pause')) await tell(run, [asked({ kind }, io.clock.now())], io);
  const said =
    kind === 'pause'
      ? `run ${run.name} is ${before ? 'already paused' : 'paused'}: it finishes what is in flight and starts nothing new; resume it with: millrace resume ${run.name}`
      : `run ${run.name} ${before ? 'resumed' : 'is not paused'}`;
  await answer(options, io, asTyped(said, io), { run: run.name, paused: kind === 'pause' });
  return exitCodes.done;
}

/** `stop`: ends once the run has. */
export async function stopCommand(
  options: ControlOptions & { readonly wait?: boolean },
  io: Io,
): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  if (!(await isRunning(run)) && (await statusOf(run)) !== 'running') {
    const status = await statusOf(run);
    await answer(options, io, `run ${run.name} is already ${status}`, { run: run.name, status });
    return exitCodes.done;
  }
  await mustRun(run, io);
  await put(run, [asked({ kind: 'stop' }, io.clock.now())]);
  if (options.wait !== false) {
    io.err(`run ${run.name} is finishing what is in flight, which takes at most a minute`);
    const interrupted = interruption(io, null);
    const { signal } = interrupted;
    while (!signal.aborted && (await isRunning(run))) await pause();
    // A process reports its end a moment before it records how it ended.
    const untilMs = performance.now() + ENDED_MS;
    while (!signal.aborted && performance.now() < untilMs && (await statusOf(run)) === 'running')
      await pause();
    interrupted.release();
  }
  const status = await statusOf(run);
  const said = status === 'running' ? 'is stopping' : `is ${status}`;
  await answer(options, io, `run ${run.name} ${said}`, { run: run.name, status });
  return exitCodes.done;
}

/** `set`: without settings it lists those that have changed. */
export async function setCommand(
  options: ControlOptions & { readonly settings: readonly string[] },
  io: Io,
): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  const lagMax = lagMaxOf(run.record.settings);
  if (options.settings.length > 0) {
    const given = await checked(run, options.settings, io);
    await mustRun(run, io);
    const what = given.map(({ key, value }) =>
      asked({ kind: 'set', setting: key, value: JSON.stringify(value) }, io.clock.now()),
    );
    await tell(run, what, io);
  }
  const { changes, newest } = await withLog(run, async (log) => ({
    changes: await changesOf(log, lagMax),
    newest: await newestVersion(log),
  }));
  const next = firstStepOf(newest + 1, lagMax);
  const lines = changes.map((change) => changeLine(change, next));
  const none = `no settings of run ${run.name} have changed`;
  const shown = options.settings.length > 0 ? lines.slice(-options.settings.length) : lines;
  await answer(options, io, shown.length === 0 ? none : shown.join('\n'), {
    ...{ run: run.name, changes },
    next,
  });
  return exitCodes.done;
}

/** `next` = the first step that the next manifest decides about. */
function changeLine({ setting, value, step, by }: Change, next: number): string {
  const from = step === null ? `from step ${next} at the earliest` : `from step ${step}`;
  return `${setting}=${JSON.stringify(value)} ${from} (${by})`;
}

/** The settings in the form that the job takes. */
async function checked(
  run: Run,
  given: readonly string[],
  io: Io,
): Promise<{ readonly key: string; readonly value: unknown }[]> {
  const { record } = run;
  const job = await jobOf(run, undefined, io);
  const settings = given.map(parseSetting);
  const known = knownSettings(job.settings);
  const live = known.filter(({ live: may = false }) => may).map(({ key }) => key);
  const can = [
    `settings that can change while the job runs: ${live.join(', ')}`,
    listedBy(io.program, record.job.file),
  ];
  for (const { key } of settings) {
    if (live.includes(key)) continue;
    const fixed = known.some((one) => one.key === key);
    const why = fixed ? 'cannot change while the job runs' : 'is not a setting of this job';
    const meant = fixed ? '' : didYouMean(nearestNames(key, live));
    throw usageError([`${key} ${why}${meant}`, ...can].join('\n'));
  }
  const now = await withLog(run, (log) => changesOf(log, lagMaxOf(record.settings)));
  const changed = Object.fromEntries(now.map(({ setting, value }) => [setting, value]));
  const all = checkSettings(job.settings, settings, { ...record.settings, ...changed }, can);
  for (const { key } of settings) {
    const why = known.find((one) => one.key === key)?.idle?.(all) ?? null;
    if (why !== null) throw usageError(`${key} would have no effect: ${why}`);
  }
  return settings.map(({ key }) => ({ key, value: all[key] }));
}

async function newestVersion(log: Log): Promise<number> {
  let newest = 0;
  const from = { kind: 'last', count: 1 } as const;
  for await (const { value } of recordsOf(log, topics.weights, { from })) newest = value.version;
  return newest;
}

async function pausedNow(log: Log): Promise<boolean> {
  const said = (await controlsOf(log)).filter(({ kind }) => kind === 'pause' || kind === 'resume');
  return said.at(-1)?.kind === 'pause';
}

/** Resolves when the run has recorded it. */
async function tell(run: Run, what: readonly ControlRecord[], io: Io): Promise<void> {
  await put(run, what);
  const untilMs = performance.now() + RECORDED_MS;
  const log = await openRunLog(run, { mode: 'read', notice: (line) => io.err(line) });
  try {
    while (performance.now() < untilMs) {
      if ((await controlsOf(log)).some(({ id }) => id === what[0]?.id)) return;
      await pause();
    }
  } finally {
    await log.close();
  }
  throw new MillraceError(
    'NO_ANSWER',
    `run ${run.name} has not acknowledged the command within ${RECORDED_MS / 1000} s: it is still starting or is stuck; the command takes effect once the run responds`,
  );
}

async function mustRun(run: Run, io: Io): Promise<void> {
  if (await isRunning(run)) return;
  const status = await statusOf(run);
  const is = status === 'running' ? 'was killed' : `is ${status}`;
  const file = run.record.job.file;
  const again = status === 'done' ? '' : `; resume it with: millrace run ${file} --run ${run.name}`;
  throw new MillraceError(
    'NOT_RUNNING',
    asTyped(`run ${run.name} is not running: it ${is}${again}`, io),
    { context: { run: run.name, status } },
  );
}

async function isRunning(run: Run): Promise<boolean> {
  if ((run.log ?? run.record.log) === undefined) {
    return writerOf(logFolder(run.folder)) !== undefined;
  }
  return isWorkedOn(run);
}

async function statusOf(run: Run): Promise<string> {
  return (await readRunRecord(run.folder))?.status ?? run.record.status;
}

async function answer(
  { json }: ControlOptions,
  io: Io,
  said: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  await io.out(json === true ? `${jsonText(fields)}\n` : `${said}\n`);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}
