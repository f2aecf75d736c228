/** `millrace completion` on the command line. */
import type { Command } from 'commander';
import type { Place, Subcommand } from '../command.ts';

export const command: Subcommand = {
  about:
    'Print a script that makes your shell complete commands, options, runs, topics and settings.',
  takes: {
    '<shell>': 'your shell',
    '[words...]': 'the words typed so far: prints candidates for the last one',
  },
  declare: declareCompletion,
};

async function declareCompletion(it: Command, { io, done, program }: Place): Promise<void> {
  const { shells } = await import('../completion/shells.ts');
  it.registeredArguments[0]!.choices(Object.keys(shells));
  const uses = Object.values(shells).map(({ use }) => `  ${use}`);
  it.addHelpText('after', `\nHow to use it:\n${uses.join('\n')}`).action(
    async (shell: string, words: readonly string[]) => {
      const { completionCommand } = await import('../completion/complete.ts');
      const asked = { shell, words: words.length === 0 ? null : words, program };
      done(await completionCommand(asked, io));
    },
  );
}
