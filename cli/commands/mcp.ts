/** `millrace mcp` on the command line. */
import type { Command } from 'commander';
import { ofRuns, type Place, type Subcommand } from '../command.ts';
import type { McpOptions } from '../mcp/mcp.ts';

export const command: Subcommand = {
  about: 'Serve runs to other programs, read-only, over the Model Context Protocol (stdio).',
  declare: declareMcp,
};

function declareMcp(it: Command, { io, done, main }: Place): void {
  ofRuns(it, ['millrace mcp', 'millrace mcp --corpus wiki.jsonl --python'])
    .option(
      '--corpus <FILE>',
      'also offer search over these documents (JSON Lines with id, title, text)',
    )
    .option('--python', 'also offer the Python sandbox')
    .action(async (options: McpOptions) => {
      const { mcpCommand } = await import('../mcp/mcp.ts');
      done(await mcpCommand(options, io, main));
    });
}
