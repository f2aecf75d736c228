/**
 * `millrace eval`: runs the evaluation of a policy in a run folder of its own, and prints the table of what it can do.
 *
 * It is a run like any other: the same --run goes on where it stopped, and `tap`, `topics` and `replay` work on it. The
 * table is read from the run's records, so an evaluation that is done is printed again without being run.
 */
import { rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { conduct } from '../conduct.ts';
import { exitCodes, usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { readRunRecord } from '../runRecord.ts';
import { checkedRunName, freeRunName, type Run, withLog } from '../runs.ts';
import { startRun } from '../startRun.ts';
import { evalJob } from './evalJob.ts';
import { evalPage } from './evalPage.ts';
import { type EvalReport, evalReport, evaluatedGroups } from './evalReport.ts';
import { evalSamples } from './evalSamples.ts';
import { evalText } from './evalText.ts';
import { type EvalFlags, givenSettings } from './givenSettings.ts';

export interface EvalOptions extends EvalFlags {
  readonly run?: string;
  readonly runs: string;
  readonly seed?: number;
  readonly json?: boolean;
}

const jobFile = fileURLToPath(
  new URL(import.meta.url.endsWith('.js') ? 'evalJob.js' : 'evalJob.ts', import.meta.url),
);

export async function evalCommand(options: EvalOptions, io: Io): Promise<number> {
  const root = resolve(io.cwd, options.runs);
  const name = checkedRunName(options.run ?? (await freeRunName(root, evalJob.name)));
  const folder = join(root, name);
  const known = await readRunRecord(folder);
  if (known === null && (options.policy === undefined || options.questions === undefined)) {
    throw usageError('--policy and --questions are needed, but to go on with a run (--run NAME)');
  }
  const request = {
    job: evalJob,
    file: jobFile,
    given: await givenSettings(options, io),
    seed: options.seed,
    nowMs: io.clock.now(),
  };
  const { record, resumed } = await startRun(
    request,
    known === null ? null : { name, folder, record: known },
  );
  if (resumed && known?.status === 'done') {
    return told({ name, folder, record: known }, options, io);
  }
  io.err(
    `${resumed ? 'going on with' : 'starting'} run ${name}, seed ${record.seed}, in ${folder}`,
  );
  const end = await conduct({ name, folder, record }, evalJob, io);
  if (end === 'stopped') {
    const at = options.runs === 'runs' ? '' : ` --runs ${options.runs}`;
    io.err(`stopped; go on with: millrace eval --run ${name}${at}`);
    return exitCodes.done;
  }
  const ended = (await readRunRecord(folder)) ?? record;
  return told({ name, folder, record: ended }, options, io);
}

/** Prints the report and writes the page. */
async function told(run: Run, options: EvalOptions, io: Io): Promise<number> {
  const { report, page } = await withLog(run, async (log) => {
    const groups = await evaluatedGroups(log);
    const report: EvalReport = await evalReport(log, run, groups);
    return { report, page: evalPage(report, await evalSamples(log, groups)) };
  });
  const path = join(run.folder, 'evaluation.html');
  await writeFile(`${path}.new`, page);
  await rename(`${path}.new`, path);
  await io.out(`${options.json === true ? JSON.stringify(report) : evalText(report)}\n`);
  io.err(`page: ${path}`);
  return exitCodes.done;
}
