/**
 * A page of the API reference: every name that an entry point exports, with its description and declaration
 * as the compiler wrote them (`dist/**.d.ts`), so build first. A name without a description is an error.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Exported, exportsOf, ROOT } from '../../test/support/exports.ts';

/** The entry points of package.json: `millrace/streams` → streams/index.ts. */
export function entryPoints(): ReadonlyMap<string, string> {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  return new Map(
    Object.entries(exports).flatMap(([path, target]) =>
      typeof target === 'string'
        ? []
        : [
            [
              path.replace('.', 'millrace'),
              target.default.replace(/^\.\/dist\/(.*)\.js$/, '$1.ts'),
            ] as const,
          ],
    ),
  );
}

/** The page of an entry point as Markdown. */
export function apiPage(entry: string, file: string): string {
  const names = exportsOf(file).toSorted((a, b) => a.name.localeCompare(b.name));
  return `# ${entry}\n\n${commentOf(readFileSync(join(ROOT, file), 'utf8'))}\n\n${names.map(section).join('\n')}`;
}

function section({ name, file }: Exported): string {
  const text = compiled(file);
  const found = declarationsOf(name, text);
  if (found.length === 0 && declarationsOf(name, readFileSync(join(ROOT, file), 'utf8')).length > 0)
    throw notBuilt(file, `is older than ${file} and has no ${name}`);
  // `export * as losses`: the text is that of the file.
  const words = commentOf(
    found.length === 0 ? text : (found.find((one) => one.comment)?.comment ?? ''),
  );
  if (words === '') throw new Error(`${file}: ${name} has no documentation; put /** … */ above it`);
  const code = found.map((one) => one.code).join('\n');
  const shown = code === '' ? '' : `\n\`\`\`ts\n${code}\n\`\`\`\n`;
  return `## ${name}\n\n${words}\n${shown}\n${file}\n`;
}

/** The declarations that the compiler wrote for a source file. */
function compiled(file: string): string {
  try {
    return readFileSync(join(ROOT, declarations(file)), 'utf8');
  } catch (error) {
    throw notBuilt(file, 'is missing', error);
  }
}

function declarations(file: string): string {
  return join('dist', file.replace(/\.ts$/, '.d.ts'));
}

function notBuilt(file: string, what: string, cause?: unknown): Error {
  const message = `${declarations(file)} ${what}: run \`npm run build\` first`;
  return new Error(message, { cause });
}

interface Declaration {
  readonly comment: string;
  readonly code: string;
}

/** All declarations of a name (a function has one per overload). */
function declarationsOf(name: string, text: string): readonly Declaration[] {
  const start = new RegExp(
    `^(/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?export (?:declare )?(?:abstract )?(?:async )?(?:function\\*?|const|class|interface|type|enum) ${name}\\b`,
    'gm',
  );
  return [...text.matchAll(start)].map(({ 0: head, 1: comment = '', index }) => {
    const from = index + comment.length;
    // The compiler indents nested code: a declaration ends before the next line that starts at the margin.
    const rest = text.slice(index + head.length);
    const end = rest.search(/\n(?=[^\s}])/);
    const length = end < 0 ? rest.length : end;
    return { comment, code: text.slice(from, index + head.length + length).trim() };
  });
}

/** The first comment in a text, without its stars; empty if there is none. */
function commentOf(text: string): string {
  const [, inside = ''] = /^\s*\/\*\*([\s\S]*?)\*\//.exec(text) ?? [];
  return inside.replace(/^[ \t]*\* ?/gm, '').trim();
}
