/** `millrace metrics` on the command line. */
import { type Command, Option } from 'commander';
import { aRun, collect, ofRuns, onRun, type Place, port, type Subcommand } from '../command.ts';
import { HOST } from '../metrics/flags.ts';

/** A port that Prometheus' list of exporters assigns to no exporter. */
const PORT = 9464;

export const command: Subcommand = {
  about:
    'Serve the metrics of a run to Prometheus or export them to other monitoring systems, from a separate process (docs/observability.md).',
  takes: aRun,
  declare: declareMetrics,
};

async function declareMetrics(it: Command, place: Place): Promise<void> {
  const { parseTarget, targetForms } = await import('../metrics/targets.ts');
  const metrics = ofRuns(it, [
    'millrace metrics first --port 9464',
    'millrace metrics first --to tensorboard:tb      # then: tensorboard --logdir tb',
  ])
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
    async () => {
      const { metricsCommand } = await import('../metrics/metrics.ts');
      return ({ to = [], port: asked, host, ...options }, io) => {
        const targets = to.map((target) => parseTarget(target, io.cwd));
        const serves = asked !== undefined || targets.length === 0;
        const served = { kind: 'prometheus', address: { host, port: asked ?? PORT } } as const;
        return metricsCommand({ ...options, targets: serves ? [served, ...targets] : targets }, io);
      };
    },
    place,
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
