/** The pages of the documentation, and the commands, links and headings in them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/exports.ts';

export interface Page {
  /** From the root of the repository. */
  readonly file: string;
  readonly text: string;
}

/** Every page that a user reads: those of docs/, the README, and those of the examples. */
export const pages: readonly Page[] = execFileSync(
  'git',
  ['ls-files', '-co', '--exclude-standard', 'README.md', 'docs/*.md', 'examples/*.md'],
  { cwd: ROOT, encoding: 'utf8' },
)
  .trim()
  .split('\n')
  .sort()
  .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));

/** A command of a code block, without its comment. */
export interface ShellCommand {
  readonly file: string;
  readonly line: string;
  /** Quotes taken off; a redirection or pipe ends it. */
  readonly words: readonly string[];
}

/** The commands that begin with one of these words (`npx` before it does not count). */
export function commandsIn({ file, text }: Page, ...programs: readonly string[]): ShellCommand[] {
  const blocks = [...text.matchAll(/^```(?:sh|console)\n([\s\S]*?)^```/gm)].map(
    ([, code]) => code!,
  );
  return blocks
    .flatMap((code) => code.replace(/ \\\n\s*/g, ' ').split('\n'))
    .flatMap((line) =>
      simpleCommands(line.replace(/^\$ /, ''))
        .map((words) => (words[0] === 'npx' ? words.slice(1) : words))
        .filter(([first = '']) => programs.includes(first))
        .map((words) => ({ file, line, words })),
    );
}

/** A word, what stands between commands, or a comment. */
const TOKEN = /\s*(#.*$|\$\(|[|;&)]+|\d?>{1,2}\s*\S+|(?:[^\s'"|;&>]|'[^']*'|"[^"]*")+)/gy;

/** `A=b npx millrace x 'y z' | jq` → [npx, millrace, x, y z], [jq]. */
function simpleCommands(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [, token = ''] of line.matchAll(TOKEN)) {
    if (token.startsWith('#')) break;
    if (/^(\$\(|[|;&)]+)$/.test(token)) commands.push([]);
    else if (/^\d?>/.test(token)) continue;
    else commands.at(-1)!.push(token.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'));
  }
  return commands.map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))));
}

/** A page without its code. */
export function prose(text: string): string {
  return text.replace(/^(```|~~~)[\s\S]*?^\1/gm, '').replace(/`[^`\n]*`/g, '');
}

/** The anchors of a page's headings, as GitHub and the site make them. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, heading] of text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#{1,6} (.*)$/gm)) {
    const slug = heading!
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    let [free, n] = [slug, 0];
    while (anchors.has(free)) free = `${slug}-${++n}`;
    anchors.add(free);
  }
  return anchors;
}
