/** `--metrics-port` and `--metrics-host` of `millrace run`. */
import { type Command, Option } from 'commander';
import { port } from '../command.ts';
import type { Address } from './server.ts';

export const HOST = '127.0.0.1';

/** The options of `millrace run`. */
export interface MetricsFlags {
  readonly metricsPort?: number;
  readonly metricsHost?: string;
}

/** Adds them to `millrace run`; the environment may set them too. */
export function addMetricsFlags(run: Command): void {
  run
    .addOption(
      new Option(
        '--metrics-port <N>',
        'serve /metrics for Prometheus, /healthz and /readyz while the job runs (0 = any free port)',
      )
        .argParser(port)
        .env('MILLRACE_METRICS_PORT'),
    )
    .addOption(
      new Option('--metrics-host <ADDRESS>', 'address to listen on for them')
        .default(HOST)
        .env('MILLRACE_METRICS_HOST'),
    );
}

/** Null if no metrics were requested. */
export function metricsAddress({ metricsPort, metricsHost }: MetricsFlags): Address | null {
  return metricsPort === undefined ? null : { port: metricsPort, host: metricsHost ?? HOST };
}
