/** `--to KIND:WHERE`: the systems that a run's numbers are exported to. */
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { serverAddress } from '../../base/http/index.ts';
import { keepLogin, keepSecret, sleepClock } from '../../base/index.ts';
import { mlflow } from '../../sinks/mlflow/index.ts';
import { collector, exportTraces, openTelemetry } from '../../sinks/otlp/index.ts';
import {
  type ExportOptions,
  exportMetrics,
  PatientClient,
  type RunAbout,
} from '../../sinks/outside/index.ts';
import { tensorBoard } from '../../sinks/tensorboard/index.ts';
import { wandb } from '../../sinks/wandb/index.ts';
import { usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { didYouMean, nearestNames } from '../nearest.ts';
import type { Run } from '../runs.ts';
import type { Address } from './server.ts';

export type Target =
  | { readonly kind: 'prometheus'; readonly address: Address }
  | { readonly kind: 'tensorboard' | 'wandb'; readonly folder: string }
  | { readonly kind: 'mlflow'; readonly url: string }
  | { readonly kind: 'otlp'; readonly url: string };

const FORMS = {
  prometheus: 'prometheus:PORT, prometheus:HOST:PORT',
  tensorboard: 'tensorboard:FOLDER',
  mlflow: 'mlflow:URL',
  wandb: 'wandb:FOLDER',
  otlp: 'otlp:URL',
} as const;
const HOST = '127.0.0.1';

/** How each is written. */
export function targetForms(): string {
  return Object.values(FORMS).join(', ');
}

/** Fails with code `USAGE` if it is not a target. */
export function parseTarget(given: string, cwd: string): Target {
  const [, kind = '', where = ''] = /^([^:]*):?(.*)$/s.exec(given) ?? [];
  if (!Object.hasOwn(FORMS, kind)) {
    const meant = didYouMean(nearestNames(kind, Object.keys(FORMS)));
    throw usageError(
      `--to: unknown kind of target ${kind}${meant || '.'} Targets are: ${targetForms()}`,
    );
  }
  if (where === '') throw usageError(`--to ${kind} is incomplete; write ${FORMS[kind as Kind]}`);
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
  wandb: (where, cwd) => ({ kind: 'wandb', folder: resolve(cwd, where) }),
  otlp: (where) => ({
    kind: 'otlp',
    url: serverAddress(where, { what: 'an OpenTelemetry collector', suffix: '/v1/traces' }),
  }),
};

function addressOf(where: string): Address {
  const [, host, digits] = /^(?:(.+):)?(\d{1,5})$/.exec(where) ?? [];
  const port = Number(digits);
  if (digits !== undefined && port <= 65_535) {
    return { host: host?.replace(/^\[(.*)\]$/, '$1') ?? HOST, port };
  }
  throw usageError(
    `--to prometheus:${where} has no valid port (0 to 65535); write ${FORMS.prometheus}`,
  );
}

/** Exports a run to a target. */
export interface Carrier {
  /** Resolves with the number of items exported. */
  readonly carry: (options: ExportOptions) => Promise<number>;
  /** What these are: `metric`. */
  readonly of: string;
  /** As messages call the target. */
  readonly name: string;
  /** How to see them, once they are there; to stand behind a sentence. */
  readonly how: () => string;
  readonly close: () => unknown;
}

export interface Carried {
  readonly run: Run;
  /** How long to wait for a server that is away. */
  readonly patienceMs: number;
  /** Texts too, where the target takes any. */
  readonly content: boolean;
}

export async function carrierTo(
  target: Exclude<Target, { kind: 'prometheus' }>,
  carried: Carried,
  io: Io,
): Promise<Carrier> {
  switch (target.kind) {
    case 'tensorboard':
      return toTensorBoard(target.folder, carried, io);
    case 'wandb':
      return toWandb(target.folder, carried);
    case 'mlflow':
      return toMlflow(target.url, carried, io);
    case 'otlp':
      return toCollector(target.url, carried, io);
  }
}

async function toCollector(
  url: string,
  { run, patienceMs, content }: Carried,
  io: Io,
): Promise<Carrier> {
  const about = aboutOf(run);
  keepHeaders(process.env.OTEL_EXPORTER_OTLP_HEADERS ?? '');
  const clock = sleepClock(io.clock);
  const options = { url, about, clock, notice: io.err, patienceMs };
  const to = collector(await openTelemetry(), options);
  const hash = createHash('sha256').update(`${about.startedMs} ${url}`).digest('hex');
  const kept = join(run.folder, 'exports', `otlp-${hash.slice(0, 12)}.json`);
  return {
    carry: (options) => exportTraces({ collector: to, kept, about, content }, options),
    of: 'rollout',
    name: `the collector at ${url}`,
    how: () => ' as traces',
    close: () => to.close(),
  };
}

function toTensorBoard(folder: string, { run }: Carried, { clock }: Io): Carrier {
  const to = tensorBoard(aboutOf(run), { folder, clock });
  return {
    carry: (options) => exportMetrics(to, options),
    of: 'metric',
    name: 'TensorBoard',
    how: () => `, in ${to.folder()}; see them with: tensorboard --logdir ${folder}`,
    close: () => undefined,
  };
}

function toWandb(folder: string, { run }: Carried): Carrier {
  const to = wandb(aboutOf(run), folder);
  return {
    carry: (options) => exportMetrics(to, options),
    of: 'metric',
    name: 'Weights & Biases',
    how: () => `; send them with: wandb sync ${to.folder()}`,
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
    carry: (options) => exportMetrics(to, options),
    of: 'metric',
    name: `MLflow at ${url}`,
    how: () => `; see them at ${url}/${to.where()}`,
    close: () => client.close(),
  };
}

/** `name=value,…`, URL-encoded, as OpenTelemetry reads them. Short values are no keys: a number, a name. */
function keepHeaders(headers: string): void {
  for (const header of headers.split(',')) {
    const value = header.slice(header.indexOf('=') + 1).trim();
    const parts = value.split(/\s|%20/);
    for (const part of [value, ...parts]) if (part.length >= KEY_MIN) keepSecret(part);
  }
}

const KEY_MIN = 8;

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
