/**
 * `millrace plan`: a job on clusters described in files, or learned from a run, in virtual time; a plan for
 * each requested cluster, division of GPUs, number of workers and `lagMax`.
 */
import { basename, extname } from 'node:path';
import { jsonText } from '../base/terminal/index.ts';
import {
  type Case,
  type Cluster,
  clusterSettings,
  drawnSamples,
  learned,
  plannedRun,
  planText,
  recordedSamples,
} from '../simulate/plan/index.ts';
import { exitCodes, usageError } from './failure.ts';
import { stoppable } from './interruption.ts';
import type { Io } from './io.ts';
import { withLocalLog } from './localLog.ts';
import { findRun } from './runs.ts';
import type { Settings } from './settingFields.ts';
import { checkSettings, parseSetting } from './settings.ts';
import { readSettingsFile } from './settingsFile.ts';

export interface PlanOptions {
  readonly files: readonly string[];
  readonly runs: string;
  readonly from?: string;
  readonly split?: string;
  readonly lagMax?: string;
  readonly workers?: string;
  readonly set: readonly string[];
  readonly steps?: number;
  readonly seed: number;
  readonly json?: boolean;
}

type How = Pick<Parameters<typeof plannedRun>[0], 'samples' | 'rounds'>;

/** A named cluster and its rollouts, which may depend on the cluster. */
interface Subject {
  readonly name: string;
  readonly cluster: Cluster;
  readonly how: (cluster: Cluster) => How;
}

const HELP = ['for what a cluster’s file says: docs/plan.md'];

export async function planCommand(options: PlanOptions, io: Io): Promise<number> {
  const subjects = await subjectsOf(options, io);
  const variants = subjects.flatMap((subject) => variantsOf(subject, options));
  const cases: Case[] = [];
  for (const { name, cluster, how } of variants) {
    io.err(`planning ${name}, lagMax ${cluster.job.lagMax}`);
    const { seed, steps } = options;
    const measured = steps === undefined ? {} : { steps };
    const planned = await plannedRun({ cluster, seed, ...measured, ...how(cluster) });
    cases.push({ name, lagMax: cluster.job.lagMax, planned });
  }
  const found = cases.map(({ name, lagMax, planned }) => ({ name, lagMax, ...planned }));
  await io.out(options.json === true ? `${jsonText({ plans: found })}\n` : planText(cases));
  return exitCodes.done;
}

async function subjectsOf(options: PlanOptions, io: Io): Promise<readonly Subject[]> {
  const { files, from, seed } = options;
  const given = options.set.map(parseSetting);
  if ((files.length === 0) === (from === undefined)) {
    throw usageError('millrace plan takes files that describe clusters, or a run: --from RUN');
  }
  if (from !== undefined) return [await subjectOf(from, options, io)];
  return Promise.all(
    files.map(async (file) => {
      const read = await readSettingsFile(file, clusterSettings, io.cwd);
      const checked = checkSettings(clusterSettings, [...read, ...given], EMPTY, HELP);
      const name = basename(file, extname(file));
      const how = (cluster: Cluster): How => ({ samples: drawnSamples(cluster, seed) });
      return { name, cluster: checked as Cluster, how };
    }),
  );
}

/** Groups without which a missing value would not be named. */
const EMPTY: Settings = { servers: {}, trainer: {} };

async function subjectOf(name: string, options: PlanOptions, io: Io): Promise<Subject> {
  const run = await findRun(io, options.runs, name);
  const { cluster, groups, rounds } = await stoppable(io, (scratch) =>
    withLocalLog(run, { io, scratch }, ({ log }) => learned(log, run.record.settings)),
  );
  const given = options.set.map(parseSetting);
  const changed = checkSettings(clusterSettings, given, cluster as unknown as Settings, HELP);
  const how = (): How => ({ samples: recordedSamples(groups, options.seed), rounds });
  return { name: run.name, cluster: changed as Cluster, how };
}

function variantsOf(subject: Subject, options: PlanOptions): Subject[] {
  const { servers, trainer, job } = subject.cluster;
  const splits = options.split?.split(',').map(splitOf) ?? [[servers.gpus, trainer.gpus]];
  const lags = numbers(options.lagMax, '--lag-max', 0) ?? [job.lagMax];
  const workers = numbers(options.workers, '--workers', 1) ?? [job.workers];
  return splits.flatMap(([generate, train]) =>
    workers.flatMap((count) =>
      lags.map((lagMax) => {
        const cluster: Cluster = {
          ...subject.cluster,
          servers: { ...servers, gpus: generate! },
          trainer: { ...trainer, gpus: train! },
          job: { ...job, lagMax, workers: count },
        };
        const parts = [
          options.split === undefined ? subject.name : `${generate} + ${train}`,
          ...(options.workers === undefined ? [] : [`${count} workers`]),
        ];
        return { ...subject, cluster, name: parts.join(', ') };
      }),
    ),
  );
}

function splitOf(text: string): readonly number[] {
  const parts = /^ *(\d+) *\+ *(\d+) *$/.exec(text)?.slice(1).map(Number);
  if (parts?.every((part) => part > 0)) return parts;
  throw usageError(
    `--split takes GPUs that generate + GPUs that train, such as 64+192; given: ${text}`,
  );
}

function numbers(text: string | undefined, name: string, least: number): number[] | null {
  if (text === undefined) return null;
  return text.split(',').map((part) => {
    if (/^ *\d+ *$/.test(part) && Number(part) >= least) return Number(part);
    throw usageError(
      `${name} takes whole numbers of at least ${least}, such as 1,4; given: ${text}`,
    );
  });
}
