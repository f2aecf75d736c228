/**
 * `millrace eval`: evaluates a policy in a run folder of its own and prints the table of results.
 *
 * It is a run like any other: the same --run resumes it, and `tap`, `topics` and `replay` work on it. The
 * table is read from the run's records, so a finished evaluation is printed again without being run.
 */

import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jsonText } from '../../base/terminal/index.ts';
import { samplingIn } from '../../model/index.ts';
import { type Evaluated, readBenchmarks } from '../../summary/benchmarks/index.ts';
import { benchmarkPage } from '../../summary/html/index.ts';
import { benchmarkText } from '../../summary/text/index.ts';
import { executeRun } from '../executeRun.ts';
import { leavingNothing } from '../failedStart.ts';
import { exitCodes, usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { tell } from '../programName.ts';
import { type RunRecord, readRunRecord } from '../runRecord.ts';
import { checkedRunName, inFreeFolder, type Run, withLog } from '../runs.ts';
import { checkSettings, type Setting } from '../settings.ts';
import { showPrompt } from '../showPrompt.ts';
import { startRun } from '../startRun.ts';
import { writePage } from '../writePage.ts';
import { evalJob } from './evalJob.ts';
import { type EvalSettings, evalSettings } from './evalSettings.ts';
import { type EvalFlags, givenSettings } from './givenSettings.ts';
import { necessity, necessityText } from './necessity.ts';

export interface EvalOptions extends EvalFlags {
  readonly run?: string;
  readonly runs: string;
  readonly seed?: number;
  readonly json?: boolean;
  readonly showPrompt?: true | string;
  /** Other evaluations to compare with. */
  readonly against?: readonly string[];
}

const jobFile = fileURLToPath(
  new URL(import.meta.url.endsWith('.js') ? 'evalJob.js' : 'evalJob.ts', import.meta.url),
);

export async function evalCommand(options: EvalOptions, io: Io): Promise<number> {
  const root = resolve(io.cwd, options.runs);
  const folder = options.run === undefined ? null : join(root, checkedRunName(options.run));
  const known = folder === null ? null : await readRunRecord(folder);
  if (known === null && (options.policy === undefined || options.questions === undefined)) {
    throw usageError('give --policy and --questions, or resume an evaluation with --run NAME');
  }
  const given = await givenSettings(options, io);
  if (options.showPrompt !== undefined) {
    const settings = checkSettings(evalJob.settings, given, known?.settings);
    const begun = known === null || folder === null ? {} : { begun: folder };
    return showPrompt(
      { job: evalJob, settings, seed: 1, runs: root, ...begun },
      options.showPrompt,
      io,
    );
  }
  if (options.run !== undefined)
    return evaluateAs(options.run, { known, given, root }, options, io);
  checkSettings(evalJob.settings, given);
  return inFreeFolder(root, evalJob.name, (name) =>
    evaluateAs(name, { known, given, root }, options, io),
  );
}

interface Asked {
  /** Of the run of this name, if it has begun. */
  readonly known: RunRecord | null;
  readonly given: readonly Setting[];
  readonly root: string;
}

async function evaluateAs(
  name: string,
  { known, given, root }: Asked,
  options: EvalOptions,
  io: Io,
): Promise<number> {
  const folder = join(root, name);
  const request = {
    job: evalJob,
    file: jobFile,
    given,
    seed: options.seed,
    nowMs: io.clock.now(),
  };
  const { record, resumed } = await startRun(
    request,
    known === null ? null : { name, folder, record: known },
  );
  if (resumed && known?.status === 'done') {
    return printed({ name, folder, record: known }, options, io);
  }
  io.err(`${resumed ? 'resuming' : 'starting'} run ${name}, seed ${record.seed}, in ${folder}`);
  const run = { name, folder, record };
  const end = await leavingNothing(run, () => executeRun(run, evalJob, io));
  if (end === 'stopped') {
    io.err(`stopped; resume with: millrace eval --run ${name}`);
    return exitCodes.done;
  }
  const ended = (await readRunRecord(folder)) ?? record;
  return printed({ name, folder, record: ended }, options, io);
}

/** Prints the table and writes the page. */
async function printed(run: Run, options: EvalOptions, io: Io): Promise<number> {
  const { name, folder, record } = run;
  const evaluated = evaluatedBy(evalSettings.parse(record.settings));
  const { benchmarks, samples } = await withLog(run, (log) =>
    readBenchmarks(log, { run: name, facts: record, evaluated }),
  );
  const path = join(folder, 'evaluation.html');
  const compared =
    options.against === undefined ? null : await necessity(run, options.against, options.runs, io);
  if (options.json === true) {
    await io.out(`${jsonText(compared === null ? benchmarks : { ...benchmarks, ...compared })}\n`);
  } else {
    await tell(io, `${benchmarkText(benchmarks)}\n`);
    if (compared !== null) await io.out(`\n${necessityText(compared)}\n`);
  }
  await writePage(path, benchmarkPage(benchmarks, samples), io);
  return exitCodes.done;
}

function evaluatedBy(settings: EvalSettings): Evaluated {
  const { policy, policyName, judge, grader, rollouts, tools } = settings;
  return {
    policy: policyName || policy,
    judge: judge.url === '' ? null : judge.model,
    grader,
    rollouts,
    tools,
    ...samplingIn(settings),
  };
}
