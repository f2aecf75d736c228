/** `--metrics-port` and `millrace metrics` on the command line. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { command, type Done, onRun } from '../command.ts';
import type { Io } from '../io.ts';
import { metricsCommand } from './metrics.ts';
import type { Address } from './server.ts';

const HOST = '127.0.0.1';
/** One that Prometheus' list of exporters leaves to nobody in particular. */
const PORT = 9464;

/** The options of `millrace run`. */
export interface MetricsFlags {
  readonly metricsPort?: number;
  readonly metricsHost?: string;
}

/** Lets `millrace run` take them; the environment may give them too. */
export function addMetricsFlags(run: Command): void {
  run
    .addOption(
      new Option(
        '--metrics-port <N>',
        'serve /metrics for Prometheus, /healthz and /readyz while the job runs (0: any free port)',
      )
        .argParser(port)
        .env('MILLRACE_METRICS_PORT'),
    )
    .addOption(
      new Option('--metrics-host <ADDRESS>', 'where to listen for them')
        .default(HOST)
        .env('MILLRACE_METRICS_HOST'),
    );
}

/** Null where nobody asked for metrics. */
export function metricsAddress({ metricsPort, metricsHost }: MetricsFlags): Address | null {
  return metricsPort === undefined ? null : { port: metricsPort, host: metricsHost ?? HOST };
}

export function addMetrics(program: Command, io: Io, done: Done): void {
  const metrics = command(
    program,
    'metrics',
    'Serve the numbers of a run to Prometheus, from another process than those that run it.',
    ['millrace metrics first --port 9464'],
  )
    .addOption(new Option('--port <N>', 'port (0: any that is free)').default(PORT).argParser(port))
    .option('--host <ADDRESS>', 'where to listen', HOST);
  onRun(metrics, metricsCommand, io, done);
}

function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError('It must be a port, 0 to 65535.');
}
