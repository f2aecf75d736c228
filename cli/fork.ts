/**
 * `millrace fork`: the first calls of an agent's recorded run are answered from the record, and the rest run
 * live, n times. Shows where a different turn would have led. Nothing is trained or kept.
 */
import { resolve } from 'node:path';
import { counted, terminalText } from '../base/text/index.ts';
import type { OpenedLoop } from '../jobs/index.ts';
import { type Log, recordsOf } from '../streams/index.ts';
import { type McpCallRecord, type ModelCallRecord, type Rollout, topics } from '../topics/index.ts';
import { attemptJson, attemptText } from './attemptText.ts';
import { exitCodes, usageError } from './failure.ts';
import type { Io } from './io.ts';
import { loadJob } from './loadJob.ts';
import { findRun, withLog } from './runs.ts';
import { scratchBuild } from './scratchBuild.ts';
import { checkSettings } from './settings.ts';

export interface ForkOptions {
  readonly run: string;
  readonly runs: string;
  /** Id of the rollout. */
  readonly rollout: string;
  /** The first call that is not answered from the record, from 1. */
  readonly call: number;
  /** Runs of the agent. */
  readonly rollouts: number;
  /** Seed of the new samples; the run's plus one if left out. */
  readonly seed?: number;
  readonly json?: boolean;
}

export async function forkCommand(options: ForkOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  const { folder, record } = run;
  const { rollout, calls, tools } = await withLog(run, (log) => recordedSession(log, options));
  if (options.call > calls.length) {
    throw usageError(
      `rollout ${rollout.id} made ${counted(calls.length, 'model call')}: give --call a number from 1 to ${calls.length}`,
    );
  }
  const job = await loadJob(record.job.file, io.cwd);
  const policy = `${folder}@${rollout.version}`;
  const settings = checkSettings(job.settings, [], { ...record.settings, policy });
  const { phase, round, ...asked } = rollout.question;
  const question = { ...asked, phase: 'explore', round, schedule: null } as const;
  const forked = {
    calls: calls.slice(0, options.call - 1),
    tools: tools.filter(({ after }) => after < calls[options.call - 1]!.call),
  };
  const opened = async (loop: OpenedLoop): Promise<void> => {
    const attempt = await loop.attempt(question, options.rollouts);
    const shown = { question, prompt: '', attempt, dialect: loop.dialect };
    await io.out(options.json === true ? attemptJson(shown) : terminalText(attemptText(shown)));
  };
  const { seed = record.seed + 1 } = options;
  const runs = resolve(io.cwd, options.runs);
  await scratchBuild({ job, settings, seed, runs }, { opened, forked }, io);
  return exitCodes.done;
}

/** The rollout, and its calls in the order in which they were made. */
async function recordedSession(
  log: Log,
  { run, rollout: id }: ForkOptions,
): Promise<{
  readonly rollout: Rollout;
  readonly calls: readonly ModelCallRecord[];
  readonly tools: readonly McpCallRecord[];
}> {
  const from = { kind: 'earliest' } as const;
  const key = id.slice(0, Math.max(0, id.indexOf('/')));
  let found: Rollout | null = null;
  for await (const { value } of recordsOf(log, topics.rollouts, { from })) {
    if (value.id === id) found = value;
  }
  if (found === null) {
    throw usageError(
      `run ${run} has no rollout ${id}: see their ids with millrace tap ${run}.rollouts${key === '' ? '' : ` --key ${key}`}`,
    );
  }
  const { session } = found;
  if (session == null) {
    throw usageError(
      `rollout ${id} was not made by an agent: only sessions of agents can be forked`,
    );
  }
  const made = new Set(session.calls.map(({ call }) => call));
  const calls: ModelCallRecord[] = [];
  for await (const { value } of recordsOf(log, topics.calls, { from })) {
    if (value.sessionId === id && made.has(value.call)) calls.push(value);
  }
  const tools: McpCallRecord[] = [];
  for await (const { value } of recordsOf(log, topics.mcpCalls, { from })) {
    if (value.sessionId === id) tools.push(value);
  }
  return { rollout: found, calls: calls.toSorted((a, b) => a.call - b.call), tools };
}
