/** `millrace view` on the command line. */
import { type Command, Option } from 'commander';
import { PORT } from '../../page/server/http/listen.ts';
import { TOKEN_VARIABLE } from '../../page/server/http/secret.ts';
import { command, type Done, port } from '../command.ts';
import type { Io } from '../io.ts';
import { viewCommand } from './view.ts';

/** Of `millrace run`. */
export function pageFlag(): Option {
  return new Option(
    '--page [port]',
    'serve the live page while the job runs, from a process beside it',
  ).argParser(port);
}

export function addView(program: Command, io: Io, done: Done): void {
  command(
    program,
    'view',
    'Serve the live page of a run, and of all runs in the folder; reads only, disturbs nothing.',
    [
      'millrace view',
      'millrace view first --port 8000',
      'millrace view first --control',
      'millrace view --host 0.0.0.0 --token "$TOKEN" --trusted-origin https://mill.example',
    ],
  )
    .argument('[run]', 'the run that the link leads to (default: the list of runs)')
    .addOption(
      new Option('--port <N>', `port (default: ${PORT}, or the next that is free)`).argParser(port),
    )
    .option('--host <ADDRESS>', 'where to listen instead of 127.0.0.1 and ::1')
    .addOption(
      new Option('--token <TEXT>', 'the token of the link (default: a new one)').env(
        TOKEN_VARIABLE,
      ),
    )
    .option('--no-token', 'let every user of this machine read')
    .option('--trusted-origin <URL>', 'the address by which browsers reach it, behind a proxy')
    .option('--control', 'let the page pause, resume, verify and replay, with a second token')
    .addOption(new Option('--beside').hideHelp())
    .action(async (run: string | undefined, options) =>
      done(await viewCommand({ ...options, ...(run === undefined ? {} : { run }) }, io)),
    );
}
