/** `millrace view` on the command line. */
import { type Command, Option } from 'commander';
import { PORT, TOKEN_VARIABLE } from '../../page/server/http/index.ts';
import { command, type Done, port } from '../command.ts';
import type { Io } from '../io.ts';
import { viewCommand } from './view.ts';

/** Of `millrace run`. */
export function pageFlag(): Option {
  return new Option(
    '--page [port]',
    'serve the live page while the job runs, from a separate process',
  ).argParser(port);
}

export function addView(program: Command, io: Io, done: Done): void {
  command(
    program,
    'view',
    'Serve the live page of a run and of all runs in the folder. It only reads and does not disturb them.',
    [
      'millrace view',
      'millrace view first --port 8000',
      'millrace view first --control',
      'millrace view --host 0.0.0.0 --token "$TOKEN" --trusted-origin https://mill.example',
    ],
  )
    .argument('[run]', 'run to link to (default: the list of runs)')
    .addOption(
      new Option(
        '--port <N>',
        `port to listen on (default: ${PORT}, or the next free one)`,
      ).argParser(port),
    )
    .option('--host <ADDRESS>', 'address to listen on instead of 127.0.0.1 and ::1')
    .addOption(
      new Option('--token <TEXT>', 'token in the link (default: a new one)').env(TOKEN_VARIABLE),
    )
    .option('--no-token', 'let every user of this machine read without a token')
    .option('--trusted-origin <URL>', 'address at which browsers reach it, behind a proxy')
    .option('--control', 'let the page pause, resume, verify and replay, guarded by a second token')
    .addOption(new Option('--beside').hideHelp())
    .action(async (run: string | undefined, options) =>
      done(await viewCommand({ ...options, ...(run === undefined ? {} : { run }) }, io)),
    );
}
