/** `millrace tools …` on the command line. */
import type { Command } from 'commander';
import { examplesText, type Place, type Subcommand } from '../command.ts';

const acts = () => import('../tools/python.ts');

export const command: Subcommand = {
  about: 'Manage packages that tools use.',
  declare: declareTools,
};

function declareTools(tools: Command, { io, done }: Place): void {
  const python = tools
    .command('python')
    .description('Manage the packages that programs of the Python tool can import.');
  python
    .command('add')
    .description(
      'Add packages and their dependencies to the user’s cache. Every file is verified by its digest; running them needs no network.',
    )
    .argument('<name...>', 'packages from pyodide’s distribution: sympy, numpy, scipy, pandas, …')
    .option('--from <PLACE>', 'folder or address of that distribution’s files')
    .option('--index <URL>', 'index of Python packages (default: PIP_INDEX_URL, or PyPI)')
    .addHelpText(
      'after',
      examplesText([
        'millrace tools python add sympy',
        'millrace tools python add numpy --from ./pyodide-0.314.0',
      ]),
    )
    .action(async (names: readonly string[], options) =>
      done(await (await acts()).pythonAdd({ ...options, names }, io)),
    );
  python
    .command('ls')
    .description('List the added packages.')
    .option('--json', 'print one JSON object')
    .action(async (options) => done(await (await acts()).pythonList(options, io)));
  python
    .command('remove')
    .description('Remove packages and those that depend on them.')
    .argument('<name...>', 'packages to remove')
    .action(async (names: readonly string[]) => done(await (await acts()).pythonRemove(names, io)));
}
