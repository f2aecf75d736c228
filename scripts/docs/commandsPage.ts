/**
 * The page of commands, made from the program itself: what each is for and takes, and examples of what it
 * prints.
 */
import type { Command } from 'commander';
import { systemClock } from '../../base/index.ts';
import { commandNames } from '../../cli/commands/names.ts';
import type { Io } from '../../cli/io.ts';
import { programFor } from '../../cli/program.ts';
import { ROOT } from '../../test/support/exports.ts';
import { sentence, table } from './table.ts';

/** A process nobody sees: nothing runs in it. */
export const still: Io = {
  ...{ program: 'millrace', cwd: ROOT, clock: systemClock, terminal: false },
  out: () => Promise.resolve(),
  err: () => undefined,
  onInterrupt: () => () => undefined,
  exit: () => undefined,
};

export async function commandsPage(): Promise<string> {
  const sections = await Promise.all(
    commandNames.map(async (name) => {
      const program = await programFor([name, '--help'], still);
      return section(program.commands.find((one) => one.name() === name)!, '##', 'millrace');
    }),
  );
  return `# Commands\n\nEvery command, as \`millrace help COMMAND\` shows it too.\n\n${sections.join('\n')}`;
}

function section(command: Command, heading: string, parent: string): string {
  const name = `${parent} ${command.name()}`;
  const inner = command.commands.map((one) => section(one, `${heading}#`, name));
  const rows = [
    ...command.registeredArguments.map((one) => [
      `\`${one.required ? `<${one.name()}` : `[${one.name()}`}${one.variadic ? '…' : ''}${one.required ? '>' : ']'}\``,
      sentence(one.description),
    ]),
    ...command.options
      .filter(({ hidden }) => !hidden)
      .map(({ flags, description, defaultValue, argChoices }) => [
        `\`${flags}\``,
        [
          description,
          argChoices === undefined ? '' : `one of ${argChoices.join(', ')}`,
          defaultValue === undefined || [defaultValue].flat().length === 0
            ? ''
            : `default: ${String(defaultValue)}`,
        ]
          .filter(Boolean)
          .map(sentence)
          .join('; '),
      ]),
  ];
  const after = below(command);
  return [
    `${heading} ${name}\n\n${sentence(command.description())}\n`,
    inner.length > 0
      ? ''
      : `\`\`\`text\n${`${name} ${command.usage()}`.trim()}\n\`\`\`\n\n${table(['', 'what it is'], rows)}\n`,
    after === '' ? '' : `\`\`\`text\n${after}\n\`\`\`\n`,
    ...inner,
  ]
    .filter(Boolean)
    .join('\n');
}

/** The part of the help below its lists: examples, and what does not fit in a line. */
function below(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (more) => {
      text += more;
    },
  });
  command.outputHelp();
  return text.slice(command.helpInformation().length).trim();
}
