/** `millrace tools python …`: packages of the Python tool. */
import type { Command } from 'commander';
import type { Done } from '../command.ts';
import type { Io } from '../io.ts';
import { pythonAdd, pythonList, pythonRemove } from './python.ts';

export function addTools(program: Command, io: Io, done: Done): void {
  const tools = program.command('tools').description('What tools are made of.');
  const python = tools
    .command('python')
    .description('Packages that programs of the Python tool can import.');
  const example = (lines: readonly string[]): string =>
    `\n${lines.length > 1 ? 'Examples' : 'Example'}:\n${lines.map((line) => `  ${line}`).join('\n')}`;
  python
    .command('add')
    .description(
      'Add packages, with what they need, to the user’s cache. Every file is checked by its digest; afterwards no network is needed.',
    )
    .argument('<name...>', 'packages of pyodide’s distribution: sympy, numpy, scipy, pandas, …')
    .option('--from <PLACE>', 'a folder or an address with the files of that distribution')
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
    .description('List the packages that were added.')
    .option('--json', 'one JSON object')
    .action(async (options) => done(await pythonList(options, io)));
  python
    .command('remove')
    .description('Remove packages, and those that need them.')
    .argument('<name...>', 'the packages')
    .action(async (names: readonly string[]) => done(await pythonRemove(names, io)));
}
