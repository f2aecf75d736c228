/**
 * The command line of a benchmark: options with a sentence, a default and what their value must be. `--help` tells them
 * and what is measured; what cannot be meant gives one line, and exit code 2.
 */
import { parseArgs } from 'node:util';
import { failure, usageError } from '../cli/failure.ts';
import { nearest } from '../cli/nearest.ts';

export interface Option<T> {
  /** How its value is written; null where it takes none. */
  readonly value: string | null;
  readonly about: string;
  /** As it would be given. */
  readonly default: string;
  readonly takes: string;
  /** What is given as it is meant; undefined where it is not what the option takes. */
  readonly read: (text: string) => T | undefined;
}

export interface Benchmark<Options> {
  /** As a person types it: `npm run soak`. */
  readonly command: string;
  /** In a few sentences. */
  readonly measures: string;
  readonly options?: Options;
}

type Known = Readonly<Record<string, Option<unknown>>>;
type Values<Options> = {
  readonly [Name in keyof Options]: Options[Name] extends Option<infer T> ? T : never;
} & { readonly json: boolean };

export function flag(about: string): Option<boolean> {
  const read = (text: string): boolean => text === 'true';
  return { ...{ value: null, about, default: '' }, ...{ takes: 'no value', read } };
}

/** A whole number. */
export function whole(about: string, value: number): Option<number> {
  return number(about, value, { takes: 'a whole number, 0 or more', read: wholeOf });
}

/** A whole number above 0. */
export function count(about: string, value: number): Option<number> {
  return number(about, value, { takes: 'a whole number above 0', read: countOf });
}

/** Any number from 0 on. */
export function amount(about: string, value: number): Option<number> {
  return number(about, value, { takes: 'a number, 0 or more', read: amountOf });
}

/** Any number above 0. */
export function positive(about: string, value: number): Option<number> {
  const read = (text: string): number | undefined => amountOf(text) || undefined;
  return number(about, value, { takes: 'a number above 0', read });
}

/** Whole numbers above 0. */
export function counts(about: string, values: readonly number[]): Option<readonly number[]> {
  const read = (text: string): readonly number[] | undefined => {
    const numbers = text.split(',').map(countOf);
    return numbers.every((number) => number !== undefined) ? numbers : undefined;
  };
  const takes = 'whole numbers above 0, with commas between them';
  return { ...{ value: '<N,N>', about, default: values.join() }, ...{ takes, read } };
}

/** The first is the default. */
export function oneOf<const T extends string>(about: string, names: readonly T[]): Option<T> {
  const read = (text: string): T | undefined => names.find((name) => name === text);
  const value = `<${names.join('|')}>`;
  return { ...{ value, about, default: names[0]! }, ...{ takes: names.join(' or '), read } };
}

/** By default all of them; always in their order here. */
export function someOf<const T extends string>(
  about: string,
  names: readonly T[],
): Option<readonly T[]> {
  const read = (text: string): readonly T[] | undefined => {
    const given: readonly string[] = text.split(',');
    const found = names.filter((name) => given.includes(name));
    return found.length === new Set(given).size ? found : undefined;
  };
  const takes = `some of ${names.join()}`;
  return { ...{ value: '<a,b>', about, default: names.join() }, ...{ takes, read } };
}

function number(
  about: string,
  value: number,
  kind: Pick<Option<number>, 'takes' | 'read'>,
): Option<number> {
  return { ...{ value: '<N>', about, default: String(value) }, ...kind };
}

function amountOf(text: string): number | undefined {
  return /^(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : undefined;
}

function wholeOf(text: string): number | undefined {
  const value = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}

function countOf(text: string): number | undefined {
  return wholeOf(text) || undefined;
}

const json = flag('make one JSON object the last line of the output');
const help = flag('tell this');

/** What this process was started with. Ends the process after `--help`, and where the command line is wrong. */
export function optionsOf<const Options extends Known = Record<never, never>>(
  benchmark: Benchmark<Options>,
): Values<Options> {
  try {
    const values = parseOptions(benchmark, process.argv.slice(2));
    if (values !== null) return values;
    console.log(helpText(benchmark));
    process.exit();
  } catch (error) {
    const { code, message } = failure(error);
    console.error(message);
    process.exit(code);
  }
}

/** Null when help is asked for. Fails with code `USAGE`. */
export function parseOptions<const Options extends Known = Record<never, never>>(
  { command, options }: Benchmark<Options>,
  args: readonly string[],
): Values<Options> | null {
  const known: Known = { ...options, json, help };
  const wrong = (what: string) =>
    usageError(`${what}; ${command} -- --help tells the options of this benchmark`);
  const given = new Map<string, string>();
  for (const token of tokensOf(known, args)) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      throw wrong(`"${token.value}" belongs to no option (npm passes on what follows a --)`);
    }
    const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (option === undefined) {
      const near = nearest(token.name, Object.keys(known));
      const meant = near === null ? '' : `, did you mean --${near}?`;
      throw wrong(`there is no option ${token.rawName}${meant}`);
    }
    if ((token.value === undefined) !== (option.value === null)) {
      throw wrong(`--${token.name} takes ${option.takes}`);
    }
    given.set(token.name, token.value ?? 'true');
  }
  if (given.has('help')) return null;
  const values = Object.entries(known).map(([name, option]) => {
    const text = given.get(name) ?? option.default;
    const value = option.read(text);
    if (value === undefined) throw wrong(`--${name} takes ${option.takes}; given: ${text}`);
    return [name, value] as const;
  });
  return Object.fromEntries(values) as Values<Options>;
}

function tokensOf(known: Known, args: readonly string[]) {
  const options = Object.entries(known).map(
    ([name, { value }]) => [name, { type: value === null ? 'boolean' : 'string' }] as const,
  );
  // Not strict: what is wrong is told in our words.
  const config = { args: [...args], options: Object.fromEntries(options) };
  return parseArgs({ ...config, strict: false, tokens: true }).tokens;
}

export function helpText({ command, measures, options }: Benchmark<Known>): string {
  const rows = Object.entries({ ...options, json, help }).map(([name, option]) => {
    const by = option.default === '' ? '' : ` (default: ${option.default})`;
    return [`--${name} ${option.value ?? ''}`.trimEnd(), `${option.about}${by}`] as const;
  });
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`);
  return [`Usage: ${command} [-- options]`, '', measures, '', 'Options:', ...lines].join('\n');
}
