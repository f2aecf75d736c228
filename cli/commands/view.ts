/** `millrace view` on the command line. */
import { type Command, Option } from 'commander';
import { ofRuns, type Place, port, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about:
    'Serve the live page of a run and of all runs in the folder. It only reads and does not disturb them.',
  takes: { '[run]': 'run to link to (default: the list of runs)' },
  declare: declareView,
};

async function declareView(it: Command, { io, done }: Place): Promise<void> {
  const { PORT, TOKEN_VARIABLE } = await import('../../page/server/http/index.ts');
  ofRuns(it, [
    'millrace view',
    'millrace view first --port 8000',
    'millrace view first --control',
    'millrace view --host 0.0.0.0 --token "$TOKEN" --trusted-origin https://mill.example',
  ])
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
    .action(async (run: string | undefined, options) => {
      const { viewCommand } = await import('../view/view.ts');
      done(await viewCommand({ ...options, ...(run === undefined ? {} : { run }) }, io));
    });
}
