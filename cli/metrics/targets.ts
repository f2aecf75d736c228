/** `--to KIND:WHERE`: the programs that a run's numbers are carried to. */
import { resolve } from 'node:path';
import { serverAddress } from '../../base/http/serverAddress.ts';
import { keepLogin, keepSecret } from '../../base/secrets.ts';
import { sleepClock } from '../../base/sleepClock.ts';
import { mlflow } from '../../sinks/mlflow/mlflow.ts';
import type { MetricTarget, RunAbout } from '../../sinks/outside/exportMetrics.ts';
import { PatientClient } from '../../sinks/outside/patientClient.ts';
import { tensorBoard } from '../../sinks/tensorboard/tensorBoard.ts';
import { usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { didYouMean, nearestNames } from '../nearest.ts';
import type { Run } from '../runs.ts';
import type { Address } from './server.ts';

export type Target =
  | { readonly kind: 'prometheus'; readonly address: Address }
  | { readonly kind: 'tensorboard'; readonly folder: string }
  | { readonly kind: 'mlflow'; readonly url: string };

const FORMS = {
  prometheus: 'prometheus:PORT, prometheus:HOST:PORT',
  tensorboard: 'tensorboard:FOLDER',
  mlflow: 'mlflow:URL',
} as const;
const HOST = '127.0.0.1';

/** How each is written. */
export function targetForms(): string {
  return Object.values(FORMS).join(', ');
}

/** Fails as a wrong command line on what is no target. */
export function parseTarget(given: string, cwd: string): Target {
  const [, kind = '', where = ''] = /^([^:]*):?(.*)$/s.exec(given) ?? [];
  if (!Object.hasOwn(FORMS, kind)) {
    const meant = didYouMean(nearestNames(kind, Object.keys(FORMS)));
    throw usageError(
      `--to ${kind} is no kind of target${meant || '.'} There are: ${targetForms()}`,
    );
  }
  if (where === '') throw usageError(`--to ${kind} lacks where to: ${FORMS[kind as Kind]}`);
  return parse[kind as Kind](where, cwd);
}

type Kind = keyof typeof FORMS;

const parse: Readonly<Record<Kind, (where: string, cwd: string) => Target>> = {
  prometheus: (where) => ({ kind: 'prometheus', address: addressOf(where) }),
  tensorboard: (where, cwd) => ({ kind: 'tensorboard', folder: resolve(cwd, where) }),
  mlflow: (where) => ({
    kind: 'mlflow',
    url: serverAddress(where, { what: 'an MLflow server', suffix: '/api/2.0/mlflow' }),
  }),
};

function addressOf(where: string): Address {
  const [, host, digits] = /^(?:(.+):)?(\d{1,5})$/.exec(where) ?? [];
  const port = Number(digits);
  if (digits !== undefined && port <= 65_535) {
    return { host: host?.replace(/^\[(.*)\]$/, '$1') ?? HOST, port };
  }
  throw usageError(`--to prometheus:${where} names no port, 0 to 65535: ${FORMS.prometheus}`);
}

/** A target that takes metrics. */
export interface Carrier {
  readonly to: MetricTarget;
  /** As messages call it. */
  readonly name: string;
  /** How to see them, once they are there; to stand behind a sentence. */
  readonly how: () => string;
  readonly close: () => void;
}

export interface Carried {
  readonly run: Run;
  /** How long a server that is away is waited for. */
  readonly patienceMs: number;
}

export function metricTarget(
  target: Exclude<Target, { kind: 'prometheus' }>,
  carried: Carried,
  io: Io,
): Carrier {
  return target.kind === 'mlflow'
    ? toMlflow(target.url, carried, io)
    : toTensorBoard(target.folder, carried, io);
}

function toTensorBoard(folder: string, { run }: Carried, { clock }: Io): Carrier {
  const to = tensorBoard(aboutOf(run), { folder, clock });
  return {
    to,
    name: 'TensorBoard',
    how: () => `, in ${to.folder()}; see them with: tensorboard --logdir ${folder}`,
    close: () => undefined,
  };
}

function toMlflow(url: string, { run, patienceMs }: Carried, io: Io): Carrier {
  const client = new PatientClient({
    what: 'MLflow',
    url,
    headers: mlflowLogin(process.env),
    clock: sleepClock(io.clock),
    notice: io.err,
    patienceMs,
  });
  const experiment = process.env.MLFLOW_EXPERIMENT_NAME ?? 'millrace';
  const to = mlflow(aboutOf(run), { client, experiment });
  return {
    to,
    name: `MLflow at ${url}`,
    how: () => `; see them at ${url}/${to.where()}`,
    close: () => client.close(),
  };
}

/** By the variables that MLflow's own clients read. */
function mlflowLogin(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const { MLFLOW_TRACKING_TOKEN: token = '' } = env;
  const { MLFLOW_TRACKING_USERNAME: user = '', MLFLOW_TRACKING_PASSWORD: password = '' } = env;
  keepSecret(token);
  keepLogin(user, password);
  if (token !== '') return { authorization: `Bearer ${token}` };
  if (user === '' && password === '') return {};
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

function aboutOf({ name, record }: Run): RunAbout {
  const { job, seed, millrace, starts, settings } = record;
  return { run: name, job: job.name, seed, millrace, startedMs: starts[0]!.startedMs, settings };
}
