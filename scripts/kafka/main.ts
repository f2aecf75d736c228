/**
 * `npm run kafka [-- --port 9092 --folder DIR]`: a broker in the foreground, until Ctrl-C.
 * `npm run kafka -- start` puts it into the background and returns when it answers; `stop` ends that one.
 *
 * The folder (default `runs/.kafka`) keeps its data from one start to the next.
 */
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { port } from '../port.ts';
import { javaMissing, startBroker } from './broker.ts';
import { kafkaVersion } from './jars.ts';

const program = new Command('npm run kafka')
  .usage('[-- run|start|stop] [options]')
  .description(
    `A Kafka ${kafkaVersion} broker on this machine, for tests and experiments. Needs Java 17 or later.`,
  )
  .argument(
    '[command]',
    'run: run until Ctrl-C; start: run in the background, returns when it answers; stop: stop that one',
    'run',
  )
  .option('--port <number>', 'port to listen on', port, 9092)
  .option('--folder <dir>', 'data folder, kept between starts', 'runs/.kafka')
  .showHelpAfterError()
  .parse();
const options = program.opts<{ port: number; folder: string }>();
const folder = resolve(options.folder);
const pidFile = join(folder, 'broker.pid');
const tell = (line: string): void => console.error(line);

async function foreground(): Promise<void> {
  const why = javaMissing();
  if (why !== null) throw new Error(why);
  const broker = await startBroker({ folder, port: options.port, tell });
  await writeFile(pidFile, String(process.pid));
  tell(`Kafka ${kafkaVersion} is running at ${broker.address}, data in ${folder}`);
  console.log('ready');
  const stop = (): void => void broker.stop();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  await new Promise((ended) => broker.process.once('exit', ended));
  await rm(pidFile, { force: true });
}

/** The same script in the foreground of a process of its own; returns at its `ready`. */
async function background(): Promise<void> {
  await mkdir(folder, { recursive: true });
  const log = openSync(join(folder, 'start.log'), 'w');
  const args = ['--import', 'tsx', fileURLToPath(import.meta.url)];
  const child = spawn(
    process.execPath,
    [...args, '--port', String(options.port), '--folder', folder],
    {
      detached: true,
      stdio: ['ignore', log, log],
    },
  );
  for (;;) {
    const text = await readFile(join(folder, 'start.log'), 'utf8');
    if (/^ready$/m.test(text)) break;
    if (child.exitCode !== null) throw new Error(text);
    await new Promise((done) => setTimeout(done, 100));
  }
  child.unref();
  tell(
    `Kafka ${kafkaVersion} is running at 127.0.0.1:${options.port}; stop it with: npm run kafka -- stop`,
  );
}

async function stop(): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => '0'));
  if (pid === 0) return tell(`no broker is running on ${folder}`);
  // A killed broker leaves its process id behind.
  for (let signal: NodeJS.Signals | 0 = 'SIGTERM'; signalled(pid, signal); signal = 0) {
    await new Promise((done) => setTimeout(done, 100));
  }
  await rm(pidFile, { force: true });
  tell('stopped');
}

/** False if that process no longer exists. */
function signalled(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

const commands: Readonly<Record<string, () => Promise<void>>> = {
  run: foreground,
  start: background,
  stop,
};
const [name = ''] = program.processedArgs as readonly string[];
const command = commands[name];
if (command === undefined)
  program.error(`unknown command '${name}'; commands are run, start and stop`);
await command().catch((error: unknown) => {
  tell(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
