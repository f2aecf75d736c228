/**
 * Why a job's file cannot be loaded, as one message with the file and line to look at. A loader's error is
 * spread over frames of its own; only its first words and the importing file help.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { messageOf, thrownBy } from '../base/index.ts';

/** Limit of errors shown per file. */
const SHOWN_MAX = 3;

/** `path` = the job's file. */
export function loadingError(path: string, cause: unknown): string {
  if (!(cause instanceof Error)) return `${path} threw ${messageOf(cause)}`;
  return (
    transformed(cause) ??
    notFound(cause) ??
    notExported(cause) ??
    (cause instanceof SyntaxError ? unparsed(path, cause) : null) ??
    `cannot load ${path}: ${thrownBy(cause)}`
  );
}

/** Invalid TypeScript, as esbuild reports it: `FILE:4:13: ERROR: …`, one per line. */
function transformed({ name, message }: Error): string | null {
  if (name !== 'TransformError') return null;
  const found = [...message.matchAll(/^(.+:\d+:\d+): ERROR: (.*)$/gm)];
  if (found.length === 0) return null;
  const lines = found.slice(0, SHOWN_MAX).map(([, place, what]) => `${place}: ${what}`);
  return `syntax error: ${lines.join('\n')}`;
}

function notFound({ message }: Error): string | null {
  const [, kind, what = '', from = ''] =
    /^Cannot find (package|module) '(.+?)' imported from (.+)$/m.exec(message) ?? [];
  if (kind === undefined) return null;
  const file = pathOf(from);
  if (kind === 'module') return `${placeIn(file, what)}: file not found: ${what}`;
  const name = packageOf(what);
  return `${placeIn(file, name)}: the package ${name} is not installed; run: npm install ${name}`;
}

/** `node_modules/NAME/index.js` when a package's folder exists but is empty. */
function packageOf(what: string): string {
  const within = what.split(/[\\/]node_modules[\\/]/).at(-1) ?? what;
  const parts = within.split(/[\\/]/);
  return parts.slice(0, within.startsWith('@') ? 2 : 1).join('/');
}

/** The stack of such an error begins with the file and its line. */
function notExported({ message, stack = '' }: Error): string | null {
  const [, module, name = ''] =
    /module '(.+?)' does not provide an export named '(.+?)'/.exec(message) ?? [];
  if (module === undefined) return null;
  const [, file = '', line] = /^(.+?):(\d+)\n/.exec(stack) ?? [];
  const place = file === '' ? '' : `${placeIn(pathOf(file), name) || `${pathOf(file)}:${line}`}: `;
  return `${place}${module} has no export ${name}`;
}

/** Invalid JavaScript: only Node's own output names the line. Checking executes nothing. */
function unparsed(path: string, { message }: SyntaxError): string | null {
  try {
    execFileSync(process.execPath, ['--check', path], { stdio: 'pipe', encoding: 'utf8' });
    return null;
  } catch (error) {
    const said = String((error as { readonly stderr?: unknown }).stderr);
    const [, line] = /^.+?:(\d+)\r?\n/.exec(said) ?? [];
    return line === undefined ? null : `syntax error: ${path}:${line}: ${message}`;
  }
}

/** The file with the first line that contains this text; just the file if none does. */
function placeIn(file: string, text: string): string {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    const named = text.split(/[\\/]/).at(-1) ?? text;
    const at = [text, named, named.replace(/\.\w+$/, '')]
      .map((each) => lines.findIndex((line) => line.includes(each)))
      .find((found) => found >= 0);
    return at === undefined ? file : `${file}:${at + 1}`;
  } catch {
    return file;
  }
}

function pathOf(file: string): string {
  return file.startsWith('file:') ? fileURLToPath(file.replace(/\?.*$/, '')) : file;
}
