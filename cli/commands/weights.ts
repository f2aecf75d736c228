/** `millrace weights …` on the command line. */
import { type Command, Option } from 'commander';
import { examplesText, type Place, port, positive, type Subcommand } from '../command.ts';

export const command: Subcommand = {
  about: 'Receive the weights that a run publishes, on the machine of a model server.',
  declare: declareWeights,
};

const PORT = 8600;

function declareWeights(weights: Command, { io, done }: Place): void {
  weights
    .command('receive')
    .description(
      'Take new weights over HTTP beside a model server that shares no disk with the run. ' +
        'The run sends them to engine.receivers, then asks the server to load the folder.',
    )
    .requiredOption('--folder <FOLDER>', 'where versions are kept; the model server must read it')
    .option('--seen-as <PATH>', 'path of that folder as the model server sees it, if it differs')
    .addOption(
      new Option('--port <N>', 'port to listen on (0 = any free port)')
        .argParser(port)
        .default(PORT),
    )
    .option(
      '--host <ADDRESS>',
      'address to listen on; any other than loopback needs a token',
      '127.0.0.1',
    )
    .option(
      '--token-env <NAME>',
      'environment variable with the token that senders need',
      'MILLRACE_WEIGHTS_TOKEN',
    )
    .option('--keep <N>', 'newest versions to keep', positive, 3)
    .addHelpText(
      'after',
      examplesText([
        'millrace weights receive --folder /weights --host 0.0.0.0',
        'millrace run … --set engine.receivers=http://gpu1:8600 --set engine.receiverKeyEnv=MILLRACE_WEIGHTS_TOKEN',
      ]),
    )
    .action(async (options) => {
      const { receiveCommand } = await import('../weights/receive.ts');
      done(await receiveCommand(options, io));
    });
}
