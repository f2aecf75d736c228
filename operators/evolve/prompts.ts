/**
 * What the flywheel asks its analyst and its critic (ET-Agent §4.4, §4.6, §4.7): files in `prompts/`, one per
 * request, with placeholders written `{{name}}`.
 *
 * A folder of your own overrides the files that it has. Every file is read and checked once, when the prompts
 * are loaded: a placeholder that a prompt must have and lacks, or that nothing fills in, is an error then and
 * not in the middle of a run. `replies.ts` says what the replies must look like; a prompt that asks for
 * something else gets nothing.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MillraceError, messageOf } from '../../base/index.ts';
import { chatFence } from '../dialect/fence.ts';

/** The prompts and their placeholders. */
const PLACES = {
  /** The critic judges a mathematical answer: `Correct` or `Incorrect`. */
  judge: ['question', 'answers', 'prediction'],
  /** The critic looks for a step with redundant thinking or calls and shortens it. */
  redundancy: ['question', 'steps'],
  /** The critic rewrites the thinking of a whole trajectory around its actions. */
  refine: ['question', 'trajectory'],
  /** The critic finds the first step at which a wrong solution goes wrong. */
  locate: ['question', 'steps'],
  /** How the analyst's reply to `locate` begins, when the flawed step is known. */
  'analysis-opener': ['step'],
  /** The analyst rewrites the last of the given steps. */
  'new-step': ['question', 'steps', 'analysis', 'tools'],
} as const;

/** A placeholder that a prompt may omit. */
const OPTIONAL = 'tools';

type Name = keyof typeof PLACES;

/** Each prompt as a function of the values for its placeholders. */
export type Prompts = {
  readonly [N in Name]: (values: Readonly<Record<(typeof PLACES)[N][number], string>>) => string;
};

const SHIPPED = fileURLToPath(new URL('./prompts', import.meta.url));
const PLACE = /\{\{([^{}]*)\}\}/g;

/**
 * The prompts, from the package's own files and, if it has a file of that name, from `folder`.
 *
 * Throws `PROMPT`, naming file and place: a folder that cannot be read, a file that is not a prompt, a
 * missing or an unknown placeholder.
 */
export function loadPrompts(folder?: string): Prompts {
  if (folder !== undefined) checkFolder(folder);
  const names = Object.keys(PLACES) as Name[];
  return Object.fromEntries(
    names.map((name) => [name, template(fileOf(name, folder), PLACES[name])]),
  ) as unknown as Prompts;
}

function fileOf(name: Name, folder: string | undefined): string {
  const own = folder === undefined ? '' : join(folder, `${name}.md`);
  return existsSync(own) ? own : join(SHIPPED, `${name}.md`);
}

/** A file that overrides nothing has a mistyped name. */
function checkFolder(folder: string): void {
  const known = Object.keys(PLACES).map((name) => `${name}.md`);
  const files = reading(folder, () => readdirSync(folder)).filter((file) => file.endsWith('.md'));
  const stray = files.find((file) => !known.includes(file));
  if (stray !== undefined) {
    throw new MillraceError(
      'PROMPT',
      `${join(folder, stray)} is not a prompt of the flywheel; rename it to one of ${known.join(', ')}`,
      { context: { file: join(folder, stray) } },
    );
  }
}

/**
 * The file as a function that fills in its placeholders; nothing filled in can end the prompt's message.
 * Blank lines at its ends do not count.
 */
function template(file: string, places: readonly string[]) {
  const text = reading(file, () => readFileSync(file, 'utf8')).trim();
  const found = [...text.matchAll(PLACE)].map((match) => match[1]!);
  const wrong = (place: string, what: string) =>
    new MillraceError(
      'PROMPT',
      `${file}: ${what} {{${place}}}; its placeholders are ${listed(places)}`,
      {
        context: { file, place },
      },
    );
  const unknown = found.find((place) => !places.includes(place));
  if (unknown !== undefined) throw wrong(unknown, 'unknown placeholder');
  const missing = places.find((place) => place !== OPTIONAL && !found.includes(place));
  if (missing !== undefined) throw wrong(missing, 'missing placeholder');
  return (values: Readonly<Record<string, string>>) =>
    text.replaceAll(PLACE, (_, place: string) => chatFence(values[place]!));
}

function listed(places: readonly string[]): string {
  return places.map((place) => `{{${place}}}`).join(', ');
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new MillraceError('PROMPT', `${path} cannot be read: ${messageOf(cause)}`, {
      context: { file: path },
      cause,
    });
  }
}
