/**
 * Every command in the documentation is one that there is: known commands and options, known settings and
 * presets, known topics, and runs that the README makes or the page itself.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Command } from 'commander';
import { commandNames } from '../../cli/commands/names.ts';
import { programFor } from '../../cli/program.ts';
import { readyJobs } from '../../cli/readyJobs.ts';
import { topicNames } from '../../cli/tap/patterns.ts';
import { fakeIo } from '../cli/support/fakeIo.ts';
import { ROOT } from '../support/exports.ts';
import { anySetting, isKnown, settingsOfJobs } from './settingNames.ts';
import { commandsIn, pages, prose, type ShellCommand } from './support.ts';

/** The run that the README's second command makes. */
const RUN = 'first';
/** What stands for something of the reader's own. */
const isOpen = (word: string): boolean => /[…$<]|^[A-Z_]+(\W|$)/.test(word);

const commands = pages.flatMap((page) => commandsIn(page, 'millrace'));
const names = new Map(readyJobs.map((ready) => [ready.name, ready]));
interface Typed {
  readonly command: Command;
  readonly given: readonly string[];
  /** Option → its values. */
  readonly options: ReadonlyMap<string, readonly string[]>;
  readonly wrong: readonly string[];
}

/** What the program makes of the words, without running anything. */
async function typed(words: readonly string[]): Promise<Typed> {
  const program = await programFor(words, fakeIo(ROOT));
  let command: Command = program;
  const rest = [...words];
  for (;;) {
    const inner = command.commands.find((one) => one.name() === rest[0]);
    if (inner === undefined) break;
    command = inner;
    rest.shift();
  }
  const wrong: string[] = [];
  const given: string[] = [];
  const options = new Map<string, string[]>();
  if (command === program || command.commands.length > 0) wrong.push(`no command ${rest[0]}`);
  while (rest.length > 0) {
    const word = rest.shift()!;
    if (!word.startsWith('-') || word === '-') {
      given.push(word);
      continue;
    }
    const [name = '', ...joined] = word.split('=');
    const option = command.options.find(({ long, short }) => long === name || short === name);
    if (option === undefined) {
      if (name !== '--help') wrong.push(`no option ${name}`);
      continue;
    }
    const takes =
      option.required || (option.optional && rest[0] !== undefined && !rest[0].startsWith('-'));
    const values = joined.length > 0 ? [joined.join('=')] : takes ? [rest.shift() ?? ''] : [];
    // <FILE...> takes all that follow.
    while (option.variadic && rest[0] !== undefined && !rest[0].startsWith('-'))
      values.push(rest.shift()!);
    if (option.required && values[0] === '') wrong.push(`${name} without a value`);
    options.set(name, [...(options.get(name) ?? []), ...values]);
  }
  const takes = command.registeredArguments;
  const closed = given.filter((word) => word !== '…');
  if (!takes.at(-1)?.variadic && closed.length > takes.length)
    wrong.push(`too many words: ${closed.slice(takes.length).join(' ')}`);
  const needed = takes.filter(({ required }) => required).length;
  if (given.length < needed && !given.includes('…'))
    wrong.push(`${takes[given.length]!.name()} is missing`);
  return { command, given, options, wrong };
}

function wrongSettings({ given: [job = ''], options }: Typed): string[] {
  const known = settingsOfJobs.get(job) ?? anySetting;
  const wrong = (options.get('--set') ?? [])
    .map((one) => one.split('=')[0]!)
    .filter((key) => !isOpen(key) && key !== 'key' && !isKnown(key, known))
    .map((key) => `${job} has no setting ${key}`);
  const presets = names.get(job)?.job?.presets ?? {};
  const unknown = (options.get('--preset') ?? []).filter(
    (name) => !isOpen(name) && !(name in presets),
  );
  const isJob = job === '' || isOpen(job) || /\.ts$/.test(job) || names.has(job);
  return [
    ...(isJob ? wrong : [`no job ${job}`]),
    ...unknown.map((name) => `${job} has no preset ${name}`),
  ];
}

function wrongRuns({ command, given, options }: Typed, made: ReadonlySet<string>): string[] {
  const [argument] = command.registeredArguments;
  const kind = argument?.name() ?? '';
  const read = /^run/.test(kind) ? given.slice(0, kind === 'run-a' ? 2 : 1) : [];
  const topics = kind === 'topic' ? given : [];
  const parts = topics.map((topic) => (topic.includes('.') ? topic.split('.') : ['', topic]));
  return [
    ...[...read, ...parts.map(([run]) => run!), ...(options.get('--run') ?? [])]
      .map((run) => run.split('@')[0]!)
      .filter((run) => run !== '' && !isOpen(run) && !made.has(run))
      .map((run) => `nothing makes the run ${run}`),
    ...parts
      .map(([, topic]) => topic!)
      .filter((topic) => !/[*?]/.test(topic) && !isOpen(topic) && !topicNames.includes(topic))
      .map((topic) => `no topic ${topic}`),
  ];
}

/** Runs that a page makes. */
function madeIn(file: string): ReadonlySet<string> {
  const own = commands.filter((one) => one.file === file);
  const values = own.flatMap(({ words }) =>
    words.flatMap((word, i) => {
      const makes = ['run', 'eval'].includes(words[1]!) ? ['--run', '--into'] : ['--into'];
      return makes.includes(word) ? [words[i + 1]!] : [];
    }),
  );
  return new Set([RUN, ...values]);
}

async function wrong({ file, line, words }: ShellCommand): Promise<string[]> {
  const one = await typed(words.slice(1));
  const name = one.command.name();
  const about = [
    ...one.wrong,
    ...(['run', 'try'].includes(name) ? wrongSettings(one) : []),
    ...wrongRuns(one, madeIn(file)),
  ];
  return about.map((what) => `${file}: ${what}: ${line.trim()}`);
}

describe('a command in the documentation', () => {
  test('is known, with its options, settings, presets, topics and runs', async () => {
    expect(commands.length).toBeGreaterThan(120);
    const found: string[] = [];
    for (const command of commands) found.push(...(await wrong(command)));
    expect(found).toEqual([]);
  });

  test('within a sentence is known too', () => {
    const known: readonly string[] = [...commandNames, 'help'];
    const unknown = pages.flatMap(({ file, text }) =>
      [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`(?:npx )?millrace ([a-z][a-z-]*)/g)]
        .map(([, name]) => name!)
        .filter((name) => !known.includes(name))
        .map((name) => `${file}: millrace ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  test('of npm is a script of package.json', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const used = pages.flatMap(({ file, text }) =>
      [...text.matchAll(/\bnpm run (?:--silent )?([a-z][\w:-]*)/g)].map(([, name]) => ({
        file,
        name: name!,
      })),
    );
    expect(used.length).toBeGreaterThan(20);
    expect(used.filter(({ name }) => !(name in scripts))).toEqual([]);
  });

  test('of tsx runs a file that exists', () => {
    const files = pages.flatMap((page) => commandsIn(page, 'tsx')).map(({ words }) => words[1]!);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  test('makes the run that the pages read in the README', () => {
    const readme = pages.find(({ file }) => file === 'README.md')!;
    expect(commandsIn(readme, 'npm').map(({ words }) => words.join(' '))).toContain(
      `npm start -- --run ${RUN}`,
    );
    expect(prose(readme.text)).not.toContain('quickstart-1');
  });
});
