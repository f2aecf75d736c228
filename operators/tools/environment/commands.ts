/**
 * The functions of DeepAgent's text environments (§4.2), and what a call of one is as a command:
 * `goto {"recep": "fridge 1"}` is `go to fridge 1`, `click {"value": "Buy Now"}` is `click[Buy Now]`.
 */
import type { ToolDoc } from '../../../base/functions/index.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** A function, and its command. */
interface Command extends ToolDoc {
  readonly command: (given: (name: string) => string) => string;
}

const WHAT: Readonly<Record<string, string>> = {
  obj: 'An object, with its number: apple 1',
  recep: 'A place or a device, with its number: fridge 1',
  query: 'What to look for',
  value: 'Text of a link or a button on the page',
};

function command(
  name: string,
  description: string,
  [needed, more = []]: readonly [readonly string[], (readonly string[])?],
  made: Command['command'],
): Command {
  const properties = Object.fromEntries(
    [...needed, ...more].map((one) => [one, { type: 'string', description: WHAT[one]! }]),
  );
  return {
    ...{ name, description, command: made },
    parameters: { type: 'object', properties, required: needed },
  };
}

const alfworld: readonly Command[] = [
  command('goto', 'Goes to a place.', [['recep']], (of) => `go to ${of('recep')}`),
  command('take', 'Takes an object from a place.', [['obj'], ['recep']], (of) =>
    of('recep') === '' ? `take ${of('obj')}` : `take ${of('obj')} from ${of('recep')}`,
  ),
  command(
    'move',
    'Puts an object that you have into or onto a place.',
    [['obj'], ['recep']],
    (of) => (of('recep') === '' ? `drop ${of('obj')}` : `move ${of('obj')} to ${of('recep')}`),
  ),
  command('open', 'Opens a place.', [['recep']], (of) => `open ${of('recep')}`),
  ...['clean', 'heat', 'cool'].map((verb) =>
    command(
      verb,
      `${verb[0]!.toUpperCase()}${verb.slice(1)}s an object with a device.`,
      [['obj', 'recep']],
      (of) => `${verb} ${of('obj')} with ${of('recep')}`,
    ),
  ),
  command('use', 'Switches a device on.', [['obj']], (of) => `use ${of('obj')}`),
  command('look', 'Looks around.', [[]], () => 'look'),
];

const webshop: readonly Command[] = [
  command('search', 'Searches the shop.', [['query']], (of) => `search[${of('query')}]`),
  command('click', 'Clicks a link or a button.', [['value']], (of) => `click[${of('value')}]`),
];

const all = { alfworld, webshop } as const;

/** Environments whose functions are known. */
export type CommandForm = keyof typeof all;
/** Their names. */
export const commandForms = Object.keys(all) as readonly CommandForm[];

/** The functions of an environment. */
export function commandsOf(form: CommandForm): readonly ToolDoc[] {
  return all[form].map(({ command: _, ...doc }) => doc);
}

/** A call as a command. */
export function commandText(form: CommandForm, name: string, given: Arguments): string {
  const found = all[form].find((one) => one.name === name);
  if (found === undefined) throw new Error(`${form} has no function ${name}`);
  return found.command((argument) => String(given[argument] ?? '').trim());
}
