/** `millrace tools python …`: packages of the Python tool. */
import type { Command } from 'commander';
import type { Done } from '../command.ts';
import type { Io } from '../io.ts';
import { pythonAdd, pythonList, pythonRemove } from './python.ts';

export function addTools(program: Command, io: Io, done: Done): void {
  const tools = program.command('tools').description('Manage packages that tools use.');
  const python = tools
    .command('python')
    .description('Manage the packages that programs of the Python tool can import.');
  const example = (lines: readonly string[]): string =>
    `\n${lines.length > 1 ? 'Examples' : 'Example'}:\n${lines.map((line) => `  ${line}`).join('\n')}`;
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
      example([
        'millrace tools python add sympy',
        'millrace tools python add numpy --from ./pyodide-0.314.0',
      ]),
    )
    .action(async (names: readonly string[], options) =>
      done(await pythonAdd({ ...options, names }, io)),
    );
  python
    .command('ls')
    .description('List the added packages.')
    .option('--json', 'print one JSON object')
    .action(async (options) => done(await pythonList(options, io)));
  python
    .command('remove')
    .description('Remove packages and those that depend on them.')
    .argument('<name...>', 'packages to remove')
    .action(async (names: readonly string[]) => done(await pythonRemove(names, io)));
}
