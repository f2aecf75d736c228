/** `--to KIND:WHERE`: the programs that a run's numbers are carried to. */
import { resolve } from 'node:path';
import type { MetricTarget, RunAbout } from '../../sinks/outside/exportMetrics.ts';
import { tensorBoard } from '../../sinks/tensorboard/tensorBoard.ts';
import { usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { didYouMean, nearestNames } from '../nearest.ts';
import type { Run } from '../runs.ts';
import type { Address } from './server.ts';

export type Target =
  | { readonly kind: 'prometheus'; readonly address: Address }
  | { readonly kind: 'tensorboard'; readonly folder: string };

const FORMS = {
  prometheus: 'prometheus:PORT, prometheus:HOST:PORT',
  tensorboard: 'tensorboard:FOLDER',
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
}

export function metricTarget(
  target: Exclude<Target, { kind: 'prometheus' }>,
  run: Run,
  { clock }: Io,
): Carrier {
  const { folder } = target;
  const to = tensorBoard(aboutOf(run), { folder, clock });
  return {
    to,
    name: 'TensorBoard',
    how: () => `, in ${to.folder()}; see them with: tensorboard --logdir ${folder}`,
  };
}

function aboutOf({ name, record }: Run): RunAbout {
  const { job, seed, millrace, starts, settings } = record;
  return { run: name, job: job.name, seed, millrace, startedMs: starts[0]!.startedMs, settings };
}
