/**
 * The settings file that `millrace init` writes: about ten lines, for the settings that one changes first.
 * All others are in `millrace run … --show-settings`.
 */
import { isAbsolute } from 'node:path';
import type { z } from 'zod';
import { wrapped } from '../../base/terminal/index.ts';
import { groupsOf, isGroup, type Settings } from '../settingFields.ts';
import { defaultsOf, scalar } from '../showSettings.ts';

/** In this order, if a job has them. */
const FIRST = [
  ...['policy', 'questions', 'tools', 'corpus', 'data', 'rounds', 'explore', 'rollouts'],
  ...['responseMax', 'lr', 'heldOut'],
];
/** For groups, which have no description of their own. */
const ABOUT: Readonly<Record<string, string>> = {
  tools: 'what the policy can call, comma-separated: python, search, …',
};
const COLUMNS = 100;

/**
 * YAML. What is `given` is set; every other line is a comment with the default, to uncomment.
 *
 * @param title the first line, a sentence.
 */
export function starterSettings(schema: z.ZodType, given: Settings, title: string): string {
  const defaults = defaultsOf(schema);
  const fields = groupsOf(schema);
  const rows = FIRST.flatMap((name) => {
    const field = fields.find((each) => each.name === name);
    if (field === undefined) return [];
    const usual = defaults[name];
    // The package's files are somewhere else on the next machine.
    const shown = isGroup(usual) || (typeof usual === 'string' && isAbsolute(usual)) ? '' : usual;
    const value = given[name] ?? (shown === '' ? undefined : shown);
    const line = `${name}:${value === undefined ? '' : ` ${scalar(value)}`}`;
    return [
      {
        line: given[name] === undefined ? `# ${line}` : line,
        about: field.about || (ABOUT[name] ?? ''),
      },
    ];
  });
  const width = Math.max(...rows.map(({ line }) => line.length));
  const lines = rows.map(({ line, about }) => {
    const [first = '', more] = wrapped(about, COLUMNS - width - 4);
    const said = first === '' ? '' : `  # ${first}${more === undefined ? '' : ' …'}`;
    return `${line.padEnd(width)}${said}`.trimEnd();
  });
  return [`# ${title}`, ...lines, ''].join('\n');
}
