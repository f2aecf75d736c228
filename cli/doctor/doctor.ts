/**
 * `millrace doctor`: checks a run against its invariants and says what is violated and what to do. It only
 * reads, even while the run is running; on request it also rebuilds the index by key or removes what killed
 * processes left. Exit code 1 when there are findings.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import {
  hasCode,
  type Leftover,
  leftoversText,
  MillraceError,
  messageOf,
  removeLeftovers,
} from '../../base/index.ts';
import { jsonText } from '../../base/terminal/index.ts';
import { counted } from '../../base/text/index.ts';
import { BRING_ARCHIVE_BACK, type Finding, type Look } from '../../streams/doctor/index.ts';
import { openLog, writerOf } from '../../streams/embedded/index.ts';
import { type IndexFault, KeyCheck } from '../../streams/embedded/keys/index.ts';
import type { Log } from '../../streams/index.ts';
import { type RunState, stateOf, Watch } from '../../summary/index.ts';
import { examineRun, Learning, type Metric, topics, type Weights } from '../../topics/index.ts';
import { exitCodes } from '../failure.ts';
import type { Io } from '../io.ts';
import { leftoversOf } from '../leftovers.ts';
import { tell } from '../programName.ts';
import { findRun, logFolder, type Run, withLog } from '../runs.ts';
import { makeIndex } from './makeIndex.ts';
import { checkReplies } from './replies.ts';
import { checkRunState } from './runState.ts';
import { checkWeightsFiles, type KeptBySettings } from './weightsFiles.ts';

export interface DoctorOptions {
  readonly run?: string;
  readonly runs: string;
  readonly json?: boolean;
  /** Rebuild the index by key first. */
  readonly index?: boolean;
  /** First remove what killed processes left. */
  readonly fix?: boolean;
  /** Runs in this process: set in the process that `apart` starts. */
  readonly here?: boolean;
}

interface Diagnosis {
  readonly run: string;
  /** The state's name in `top` and on the page. */
  readonly state: RunState;
  readonly findings: readonly Finding[];
  readonly records: number;
  readonly weightsFiles: number;
  readonly deadLetters: number;
  /** Worth knowing, but no damage: steps that taught the policy nothing. */
  readonly notes: readonly string[];
}

/** Limit of findings per rule shown as text. */
const SHOWN_MAX = 5;

export async function doctorCommand(options: DoctorOptions, io: Io): Promise<number> {
  if (options.index === true) {
    if (!(await makeIndex(await findRun(io, options.runs, options.run), io)))
      return exitCodes.failed;
  }
  if (options.fix === true) await removeLeft(await findRun(io, options.runs, options.run), io);
  const diagnosis = (await apart(options, io)) ?? (await diagnose(options, io));
  if (options.json === true) await io.out(`${jsonText(diagnosis)}\n`);
  else await tell(io, `${diagnosisText(diagnosis)}\n`);
  return diagnosis.findings.length === 0 ? exitCodes.done : exitCodes.failed;
}

async function removeLeft(run: Run, io: Io): Promise<void> {
  const left = await leftIn(run);
  await removeLeftovers(left);
  io.err(left.length === 0 ? 'nothing to remove' : `removed ${leftoversText(left)}`);
}

/** This machine cannot see who writes to Kafka. */
function leftIn(run: Run): Promise<readonly Leftover[]> {
  const alone = run.record.log === undefined && writerOf(logFolder(run.folder)) === undefined;
  return leftoversOf(run, { alone });
}

/**
 * The diagnosis, made in a separate process: a damaged log file can crash the process that maps it into
 * memory. Null if there is to be none (tests, and that process itself).
 */
async function apart({ run, runs, here }: DoctorOptions, io: Io): Promise<Diagnosis | null> {
  const entry = fileURLToPath(new URL('../main.js', import.meta.url));
  if (here === true || !existsSync(entry)) return null;
  const name = await nameOf(run, runs, io);
  const given = [entry, 'doctor', name, '--runs', resolve(io.cwd, runs), '--json', '--here'];
  const child = spawn(process.execPath, given, { stdio: ['ignore', 'pipe', 'pipe'] });
  const release = io.onInterrupt(() => child.kill());
  const [out, err] = [text(child.stdout), text(child.stderr)];
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  release();
  if (code === 0 || (code === 1 && (await out) !== '')) return JSON.parse(await out) as Diagnosis;
  if (signal === 'SIGTERM') return nothing(name, { rule: 'log', where: 'log', ...interrupted });
  if (signal === null) throw new MillraceError('DOCTOR', (await err).trim() || `exit code ${code}`);
  return nothing(name, { rule: 'log', where: 'log', ...crashed(signal) });
}

/** Fails if there is no such run. One with a damaged record exists. */
async function nameOf(run: string | undefined, runs: string, io: Io): Promise<string> {
  try {
    return (await findRun(io, runs, run)).name;
  } catch (error) {
    if (run !== undefined && hasCode(error, 'RUN_RECORD')) return run;
    throw error;
  }
}

const interrupted = { what: 'the check was interrupted', advice: 'run it again and let it finish' };

function crashed(signal: string): Pick<Finding, 'what' | 'advice'> {
  return {
    what: `reading the log crashed the process that read it (${signal}): its file is damaged`,
    advice: RESTORE_LOG,
  };
}

function kafkaFinding(error: unknown, log: string): Pick<Finding, 'what' | 'advice'> {
  if (hasCode(error, 'NO_LOG')) {
    return {
      what: `its topics are no longer on Kafka at ${log}: someone deleted them`,
      advice: 'restore them, or start over with millrace run … --start-over',
    };
  }
  if (hasCode(error, 'OTHER_CLUSTER')) {
    return { what: messageOf(error), advice: 'find out the current address of that cluster' };
  }
  const what = `cannot read the log: ${messageOf(error)}`;
  if (hasCode(error, 'ARCHIVED')) return { what, advice: BRING_ARCHIVE_BACK };
  return { what, advice: 'check the broker: it holds the only copy of the records' };
}

const RESTORE_LOG =
  'restore log/ from a backup; or repeat the run: the same seed and settings make the same records';

async function diagnose(options: DoctorOptions, io: Io): Promise<Diagnosis> {
  let run: Run;
  try {
    run = await findRun(io, options.runs, options.run);
  } catch (error) {
    if (!hasCode(error, 'RUN_RECORD')) throw error;
    return withoutRecord(error, options, io);
  }
  try {
    return await withLog(run, (log) => diagnoseLog(run, log, io));
  } catch (error) {
    const replies = await checkReplies(run.folder);
    const finding =
      run.record.log === undefined ? findingOf(error) : kafkaFinding(error, run.record.log);
    return nothing(run.name, { rule: 'log', where: 'log', ...finding }, ...replies);
  }
}

async function diagnoseLog(run: Run, log: Log, { clock }: Io): Promise<Diagnosis> {
  const manifests: Weights[] = [];
  let deadLetters = 0;
  const learning = new Learning();
  const lost = await lostIn(log);
  const keys = run.record.log === undefined ? new KeyCheck(logFolder(run.folder)) : null;
  const { record } = run;
  const replayed = record.replayed !== undefined;
  const look: Look = (topic, value, { offset }) => {
    keys?.see(topic, value, offset);
    if (topic.name === topics.weights.name) manifests.push(value as Weights);
    if (topic.name === topics.deadLetters.name) deadLetters += 1;
    if (topic.name === topics.metrics.name) learning.add(value as Metric);
  };
  const { findings, standing, records } = await examineRun(log, look, { replayed });
  const index = keys?.faults() ?? [];
  await keys?.close();
  manifests.sort((a, b) => a.version - b.version);
  const files = await checkWeightsFiles(run.folder, manifests, record.settings as KeptBySettings);
  const replies = await checkReplies(run.folder);
  const left = await leftIn(run);
  const writer = writerOf(logFolder(run.folder));
  const broken = [
    // If topics are missing, references into them cannot resolve, and that is no fault of its own.
    ...(lost.length > 0 ? lost : findings),
    ...index.map((fault) => indexFinding(fault, run.name)),
    ...files.findings,
    ...replies,
  ];
  const live = await new Watch(log, run.name).look(record, clock);
  // This machine cannot see who writes to Kafka.
  const onDisk = record.log === undefined;
  const damaged = broken.length > 0;
  const seen = onDisk ? { ...live, damaged, writer: writer !== undefined } : { ...live, damaged };
  const whole = stateOf(record, { ...seen, damaged: false });
  const standingOf = { name: run.name, record, standing, writer };
  return {
    run: run.name,
    state: stateOf(record, seen),
    records,
    deadLetters,
    notes: [
      ...learning.notes(run.name),
      ...files.notes,
      ...(left.length === 0
        ? []
        : [
            `${leftoversText(left)}; the next start removes them, as does millrace doctor ${run.name} --fix`,
          ]),
    ],
    weightsFiles: files.checked,
    // If topics are missing, references into them cannot resolve, and that is no fault of its own.
    findings: [...(onDisk ? checkRunState({ ...standingOf, state: whole }) : []), ...broken],
  };
}

function indexFinding({ topic, what }: IndexFault, run: string): Finding {
  const advice = `rebuild it from the records: millrace doctor ${run} --index`;
  return { rule: 'index', where: topic, what, advice };
}

async function lostIn(log: Log): Promise<readonly Finding[]> {
  const lost = (await log.lost?.()) ?? [];
  return lost.map(({ topic, what }) => ({
    rule: 'topics',
    where: topic,
    what,
    advice:
      'restore the records on the broker; or start another run from its weights (policy=runs/NAME); or delete the remaining topics and add --start-over',
  }));
}

/** `run.json` is damaged: check the log anyway. */
async function withoutRecord(
  error: MillraceError,
  { runs, run: name = '' }: DoctorOptions,
  io: Io,
): Promise<Diagnosis> {
  const folder = join(resolve(io.cwd, runs), name);
  const damaged: Finding = {
    rule: 'run-state',
    where: 'run.json',
    what: error.message,
    advice:
      'rewrite it by hand with the job, seed and settings that you gave and "status": "stopped"; the records themselves are in the log',
  };
  if (!existsSync(logFolder(folder))) return nothing(name, damaged);
  try {
    const log = await openLog({ folder: logFolder(folder), mode: 'read' });
    try {
      const { findings: found, records } = await examineRun(log);
      const findings = [damaged, ...found];
      return { ...nothing(name, ...findings), records };
    } finally {
      await log.close();
    }
  } catch (also) {
    return nothing(name, damaged, { rule: 'log', where: 'log', ...findingOf(also) });
  }
}

function nothing(run: string, ...findings: readonly Finding[]): Diagnosis {
  const state = 'damaged';
  return { run, state, findings, records: 0, weightsFiles: 0, deadLetters: 0, notes: [] };
}

function findingOf(error: unknown): Pick<Finding, 'what' | 'advice'> {
  if (hasCode(error, 'NO_LOG')) {
    return { what: messageOf(error), advice: 'start the run again, or delete its folder' };
  }
  if (hasCode(error, 'DAMAGED') && typeof error.context.why === 'string') {
    return { what: `its file ${error.context.why}`, advice: RESTORE_LOG };
  }
  return {
    what: `cannot read the log: ${messageOf(error)}`,
    advice: 'restore the folder from a backup: its file may be damaged',
  };
}

function diagnosisText(diagnosis: Diagnosis): string {
  const { run, state, findings, records, weightsFiles, deadLetters, notes } = diagnosis;
  const letters =
    deadLetters === 0 ? '' : `; ${counted(deadLetters, 'dead letter')} (millrace dlq ls ${run})`;
  const files = counted(weightsFiles, 'weights file');
  const seen = `checked ${counted(records, 'record')} and ${files}${letters}`;
  const beside = notes.map((text) => `note: ${text}`);
  const whole = notes.length === 0 ? `run ${run} is` : `the records of run ${run} are`;
  if (findings.length === 0) return [...beside, `${whole} sound: ${seen}`].join('\n');
  const rules = [...new Set(findings.map(({ rule }) => rule))];
  const lines = rules.flatMap((rule) => {
    const all = findings.filter((finding) => finding.rule === rule);
    const more =
      all.length > SHOWN_MAX ? [`  … and ${all.length - SHOWN_MAX} more like these`] : [];
    return [...all.slice(0, SHOWN_MAX).map(line), ...more];
  });
  return [
    ...lines,
    ...beside,
    `run ${run} is ${state}: ${counted(findings.length, 'finding')}; ${seen}`,
  ].join('\n');
}

function line({ where, what, advice }: Finding): string {
  return `${where}: ${what}\n  → ${advice}`;
}
