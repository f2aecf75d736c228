/**
 * `--to KIND:WHERE`: Prometheus, served here, and the systems that a run's numbers are exported to.
 */
import { exporters } from '../../sinks/exporters/index.ts';
import { usageError } from '../failure.ts';
import { didYouMean, nearestNames } from '../nearest.ts';
import type { Address } from './server.ts';

/** Where the numbers of a run go. */
export type Target =
  | { readonly kind: 'prometheus'; readonly address: Address }
  | { readonly kind: 'outside'; readonly exporter: string; readonly where: string };

const PROMETHEUS = 'prometheus:PORT, prometheus:HOST:PORT';
const HOST = '127.0.0.1';

/** How to write each. */
export function targetForms(): string {
  return [PROMETHEUS, ...Object.values(exporters).map(({ form }) => form)].join(', ');
}

/** Fails with code `USAGE` if it is not a target. */
export function parseTarget(given: string, cwd: string): Target {
  const [, kind = '', where = ''] = /^([^:]*):?(.*)$/s.exec(given) ?? [];
  if (kind === 'prometheus') return { kind, address: addressOf(where) };
  if (!Object.hasOwn(exporters, kind)) {
    const meant = didYouMean(nearestNames(kind, ['prometheus', ...Object.keys(exporters)]));
    throw usageError(
      `--to: unknown kind of target ${kind}${meant || '.'} Targets are: ${targetForms()}`,
    );
  }
  const exporter = exporters[kind]!;
  mustSay(where, kind, exporter.form);
  return { kind: 'outside', exporter: kind, where: exporter.where(where, cwd) };
}

function mustSay(where: string, kind: string, form: string): void {
  if (where === '') throw usageError(`--to ${kind} is incomplete; write ${form}`);
}

function addressOf(where: string): Address {
  mustSay(where, 'prometheus', PROMETHEUS);
  const [, host, digits] = /^(?:(.+):)?(\d{1,5})$/.exec(where) ?? [];
  const port = Number(digits);
  if (digits !== undefined && port <= 65_535) {
    return { host: host?.replace(/^\[(.*)\]$/, '$1') ?? HOST, port };
  }
  throw usageError(`--to prometheus:${where} has no valid port (0 to 65535); write ${PROMETHEUS}`);
}
