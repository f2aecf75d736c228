/**
 * Asks the job of this container whether it is healthy. Exits with 0 when it is, or when it serves no health
 * check; with 1 when it says that it has failed, or does not answer in time.
 *
 * The port comes from the command line of process 1 or the environment. A refused connection is not a
 * failure: the job is still starting, or has no port. A job that has died takes its container with it.
 */
import { get } from 'node:http';
import { pathToFileURL } from 'node:url';
import { commandLineOf } from '../base/index.ts';

const ANSWER_MS = 8_000;

/** The port on a command line, or in the environment; null for none. */
export function metricsPortOf(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): number | null {
  const at = args.findIndex((arg) => arg === '--metrics-port' || arg.startsWith('--metrics-port='));
  const given = at === -1 ? env.MILLRACE_METRICS_PORT : (args[at]?.split('=')[1] ?? args[at + 1]);
  const port = Number(given);
  return given !== undefined && given !== '' && Number.isInteger(port) && port > 0 ? port : null;
}

/** Null = healthy; otherwise what is wrong. */
export function complaint(port: number, waitMs = ANSWER_MS): Promise<string | null> {
  return new Promise((resolve) => {
    const asking = get({ host: '127.0.0.1', port, path: '/healthz', timeout: waitMs }, (reply) => {
      reply.resume();
      resolve(reply.statusCode === 200 ? null : `/healthz answered ${reply.statusCode}`);
    });
    asking.on('timeout', () => {
      resolve(`/healthz did not answer within ${waitMs / 1000} s`);
      asking.destroy();
    });
    asking.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ECONNREFUSED' ? null : error.message),
    );
  });
}

async function main(): Promise<void> {
  const port = metricsPortOf(commandLineOf(1), process.env);
  const wrong = port === null ? null : await complaint(port);
  if (wrong === null) return;
  process.stderr.write(`${wrong}\n`);
  process.exitCode = 1;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main();
}
