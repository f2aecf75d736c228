/**
 * Whether a run begins or resumes, and with what.
 *
 * A run that has records is bound to its job, seed and settings. What the command line leaves out is taken
 * from `run.json`; what it says must agree, or the command fails and says what differs; only where servers
 * are (`placeSetting`) may differ. A run without a single record (it was stopped or killed before
 * its first) is bound to nothing and starts from the beginning: with what the command line says, or, if that
 * has no settings, with what it was started with.
 */
import { isDeepStrictEqual } from 'node:util';
import { hasCode } from '../base/index.ts';
import type { Job } from '../jobs/index.ts';
import { changedSettings } from './changedSettings.ts';
import { usageError } from './failure.ts';
import type { RunRecord } from './runRecord.ts';
import { type Run, withLog } from './runs.ts';
import { isGroup, knownSettings } from './settingFields.ts';
import { checkSettings, type Setting } from './settings.ts';
import { prepareFolder, workIn } from './startOver.ts';
import { version } from './version.ts';

export interface StartRequest {
  readonly job: Job;
  /** The job's file, or the name of a ready job, as given. */
  readonly file: string;
  readonly given: readonly Setting[];
  /** Where some of those are from, as given. */
  readonly preset?: string | undefined;
  readonly settingsFile?: string | undefined;
  /** Undefined = not given. */
  readonly seed: number | undefined;
  /** Where the records go, without passwords; undefined = not given. */
  readonly log?: string | undefined;
  /** This process runs a part of a run that others run too: what `run.json` says holds from the start. */
  readonly part?: boolean;
  /** Start over if the records are gone; what the run has made is set aside. */
  readonly startOver?: boolean;
  readonly nowMs: number;
}

const seedDefault = 1;

/** The record to start with, and whether the run resumes an earlier start. */
export async function startRun(
  request: StartRequest,
  run: Run | null,
  notice?: (line: string) => void,
): Promise<{ readonly record: RunRecord; readonly resumed: boolean }> {
  if (run === null) return { record: freshRecord(request), resumed: false };
  const { startOver = false, part = false } = request;
  const { name, folder, record } = run;
  const { cluster: _, ...elsewhere } = record;
  const asked = startOver ? { ...run, record: elsewhere } : run;
  const begun = part && !startOver && (await workIn(folder)) === null;
  if (begun || (await hasRecords(asked, notice))) {
    if (!startOver) return { record: resumedRecord(request, run), resumed: true };
    throw usageError(
      `run ${name} has its records: drop --start-over to resume it, or start another run with --run NAME`,
    );
  }
  await prepareFolder({ name, folder, log: run.log ?? record.log, startOver });
  const asBefore = startOver || request.given.length === 0;
  return { record: asBefore ? againRecord(request, run) : freshRecord(request), resumed: false };
}

/** Whether anything was committed in a run. */
export async function hasRecords(run: Run, notice?: (line: string) => void): Promise<boolean> {
  try {
    const stats = await withLog(run, (log) => log.stats(), notice === undefined ? {} : { notice });
    return stats.some(({ records }) => records > 0);
  } catch (error) {
    if (hasCode(error, 'NO_LOG')) return false;
    throw error;
  }
}

/** `before` = the settings that apply if none are given. */
function freshRecord(request: StartRequest, before?: RunRecord['settings']): RunRecord {
  const { job, file, given, seed, nowMs, log, preset, settingsFile } = request;
  const settings = checkSettings(job.settings, given, before);
  return {
    millrace: version,
    job: { name: job.name, file },
    seed: seed ?? seedDefault,
    settings,
    changed: changedSettings(job.settings, given, settings),
    ...(preset === undefined ? {} : { preset }),
    ...(settingsFile === undefined ? {} : { settingsFile }),
    status: 'running',
    starts: [{ startedMs: nowMs, endedMs: null }],
    reason: '',
    ...(log === undefined ? {} : { log }),
  };
}

/** The run's settings from its start, overridden by those given now. Another job takes nothing from it. */
function againRecord(request: StartRequest, { record }: Run): RunRecord {
  if (record.job.name !== request.job.name) return freshRecord(request);
  const { given, seed = record.seed, log = record.log } = request;
  const { preset = record.preset, settingsFile = record.settingsFile } = request;
  const fresh = freshRecord({ ...request, seed, log, preset, settingsFile }, record.settings);
  return given.length > 0 || record.changed === undefined
    ? fresh
    : { ...fresh, changed: record.changed };
}

function resumedRecord(request: StartRequest, { name, record }: Run): RunRecord {
  const { job, given, seed, nowMs, log } = request;
  const settings = checkSettings(job.settings, given, record.settings);
  // A setting newer than the run has its default: such a default is what runs did without it.
  const began = checkSettings(job.settings, [], record.settings);
  const places = knownSettings(job.settings).flatMap(({ key, place }) => (place ? [key] : []));
  const others = differing({ ...record.settings, ...began }, settings);
  const differences = [
    ...(job.name === record.job.name ? [] : [`job: ${record.job.name}, not ${job.name}`]),
    ...(seed === undefined || seed === record.seed ? [] : [`seed: ${record.seed}, not ${seed}`]),
    ...(log === undefined || log === record.log
      ? []
      : [
          `log: its records are ${record.log === undefined ? 'in its folder' : `at ${record.log}`}`,
        ]),
    ...others
      .filter(({ key }) => !places.includes(key))
      .map(({ key, was, now }) => `${key}: ${show(was)}, not ${show(now)}`),
  ];
  if (differences.length > 0) {
    throw usageError(
      `run ${name} exists with different settings; it was started with\n${differences.map((line) => `  ${line}`).join('\n')}\n` +
        `drop these to resume it, or start another run with --run NAME`,
    );
  }
  const starts = [...record.starts, { startedMs: nowMs, endedMs: null }];
  const changed = changedSettings(job.settings, given, settings);
  const moved = others.flatMap(({ key }) => (changed[key] ? [[key, changed[key]]] : []));
  const noted =
    moved.length > 0 ? { changed: { ...record.changed, ...Object.fromEntries(moved) } } : {};
  return { ...record, settings, ...noted, status: 'running', starts, reason: '' };
}

interface Difference {
  /** Dotted. */
  readonly key: string;
  readonly was: unknown;
  readonly now: unknown;
}

/** Single settings, also of groups. */
function differing(was: unknown, now: unknown, path: readonly string[] = []): Difference[] {
  if (isDeepStrictEqual(was, now)) return [];
  if (!isGroup(was) || !isGroup(now)) return [{ key: path.join('.'), was, now }];
  const names = [...new Set([...Object.keys(was), ...Object.keys(now)])];
  return names.flatMap((name) => differing(was[name], now[name], [...path, name]));
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
