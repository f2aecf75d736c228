/** `--metrics-port` and `millrace metrics` on the command line. */
import { type Command, Option } from 'commander';
import { collect, command, type Done, onRun, port } from '../command.ts';
import type { Io } from '../io.ts';
import { metricsCommand } from './metrics.ts';
import type { Address } from './server.ts';
import { parseTarget, targetForms } from './targets.ts';

const HOST = '127.0.0.1';
/** A port that Prometheus' list of exporters assigns to none in particular. */
const PORT = 9464;

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

/** Null when nobody asked for metrics. */
export function metricsAddress({ metricsPort, metricsHost }: MetricsFlags): Address | null {
  return metricsPort === undefined ? null : { port: metricsPort, host: metricsHost ?? HOST };
}

export function addMetrics(program: Command, io: Io, done: Done): void {
  const metrics = command(
    program,
    'metrics',
    'Serve the metrics of a run to Prometheus or export them to other monitoring systems, from a separate process (docs/observability.md).',
    [
      'millrace metrics first --port 9464',
      'millrace metrics first --to tensorboard:tb      # then: tensorboard --logdir tb',
    ],
  )
    .option(
      '--to <TARGET>',
      `target: ${targetForms()}; repeatable (default: prometheus:${PORT})`,
      collect,
    )
    .option('--once', 'export what there is now and exit, instead of following the run to its end')
    .addOption(
      new Option('--port <N>', 'same as --to prometheus:N (0 = any free port)').argParser(port),
    )
    .option('--host <ADDRESS>', 'address to listen on with --port', HOST);
  onRun<MetricsCommandFlags>(
    metrics,
    ({ to = [], port: asked, host, ...options }, out) => {
      const targets = to.map((target) => parseTarget(target, io.cwd));
      const serves = asked !== undefined || targets.length === 0;
      const served = { kind: 'prometheus', address: { host, port: asked ?? PORT } } as const;
      return metricsCommand({ ...options, targets: serves ? [served, ...targets] : targets }, out);
    },
    io,
    done,
  );
}

interface MetricsCommandFlags {
  readonly run?: string;
  readonly runs: string;
  readonly to?: readonly string[];
  readonly once?: boolean;
  readonly content?: boolean;
  readonly port?: number;
  readonly host: string;
}
