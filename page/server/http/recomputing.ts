/**
 * Runs that the page recomputes: `millrace replay` in a process of its own, one at a time. Its output and
 * result are kept for the page, and it ends with the server.
 */
import { once } from 'node:events';
import { MillraceError } from '../../../base/index.ts';
import type { ControlJob, replayFrom } from '../../wire/index.ts';
import type { Host, RunCommands } from './host.ts';
import { TOKEN_VARIABLE } from './secret.ts';

const OUTPUT_MAX = 32_768;
/** How long it may take to stop gracefully, then immediately, before it is killed. */
const STOP_MS = 5_000;

export class Recomputing {
  readonly #host: Pick<Host, 'typed' | 'say' | 'commands'>;
  #job: ControlJob | null = null;
  #child: ReturnType<RunCommands['replay']> | null = null;
  #isClosed = false;

  constructor(host: Pick<Host, 'typed' | 'say' | 'commands'>) {
    this.#host = host;
  }

  /** The newest; null before the first. */
  get job(): ControlJob | null {
    return this.#job;
  }

  /** Fails with code `RECOMPUTING` while another is under way. */
  verify(run: string): void {
    this.#start({ run, kind: 'verify', into: null }, ['--verify']);
  }

  /**
   * Makes a new run with the same settings, under a free name. Fails with code `RECOMPUTING` while another is
   * under way.
   */
  async replay(run: string, from: (typeof replayFrom)[number]): Promise<void> {
    const into = await this.#host.commands.freeName(`${run}-again`);
    this.#start({ run, kind: 'replay', into }, ['--from', from, '--into', into]);
  }

  /** Stops what is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const child = this.#child;
    if (child === null) return;
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    const atOnce = setTimeout(() => child.kill('SIGTERM'), STOP_MS);
    const killed = setTimeout(() => child.kill('SIGKILL'), 2 * STOP_MS);
    await ended;
    clearTimeout(atOnce);
    clearTimeout(killed);
  }

  #start(what: Pick<ControlJob, 'run' | 'kind' | 'into'>, how: readonly string[]): void {
    if (this.#isClosed) throw new MillraceError('CLOSED', 'this server is shutting down');
    if (this.#child !== null) {
      throw new MillraceError(
        'RECOMPUTING',
        `${this.#job!.command} is still running, and only one can run at a time; wait until it has ended`,
      );
    }
    const { typed, say, commands } = this.#host;
    const command = typed(`millrace replay ${what.run} ${how.join(' ')}`);
    say(`control: ${command}`);
    let job: ControlJob = { ...what, command, state: 'running', output: '', cut: 0 };
    this.#job = job;
    const now = (over: Partial<ControlJob>): void => {
      job = { ...job, ...over };
      this.#job = job;
    };
    const said = (text: string): void => {
      const all = job.output + text;
      const more = Math.max(0, all.length - OUTPUT_MAX);
      now({ output: all.slice(more), cut: job.cut + more });
    };
    // It runs the job file that the run names, which must not see the page's token.
    const { [TOKEN_VARIABLE]: _, ...env } = process.env;
    const child = commands.replay(what.run, how, env);
    this.#child = child;
    child.stdin.on('error', () => undefined).end();
    child.stdout.setEncoding('utf8').on('data', said);
    child.stderr.setEncoding('utf8').on('data', said);
    child.on('error', ({ message }) => said(`could not start: ${message}\n`));
    child.on('close', (code) => {
      this.#child = null;
      now({ state: code === 0 ? 'done' : 'failed' });
      say(`control: ${command} ended with ${code === null ? 'a signal' : `exit code ${code}`}`);
    });
  }
}
