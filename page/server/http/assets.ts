/**
 * The built page: files that the build made, known by name before any request. A requested path never becomes
 * part of a file name.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Answer, HTML_TYPE } from './answers.ts';

const types: Readonly<Record<string, string>> = {
  '.html': HTML_TYPE,
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
};

/** Where the build puts it, `dist/page/browser`, as seen from the source and from the compiled file. */
export function pageFolder(): string {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const isBuilt = /[\\/]dist[\\/]page[\\/]server[\\/]http[\\/]?$/.test(here);
  return join(here, '../../..', ...(isBuilt ? [] : ['dist']), 'page/browser');
}

export interface Assets {
  /** `index.html`; null if the page was not built. */
  readonly index: Answer | null;
  /** By path (`/assets/x-1a2b.js`); null if there is no such file. */
  file(path: string): Answer | null;
}

/** Reads them once: a few hundred kilobytes. */
export function loadAssets(folder = pageFolder()): Assets {
  const files = new Map<string, Answer>();
  for (const path of filesIn(folder)) {
    const type = types[extname(path)];
    if (type === undefined) continue;
    const body = readFileSync(join(folder, ...path.split('/')));
    files.set(`/${path}`, { status: 200, type, body, headers: cacheOf(path) });
  }
  return { index: files.get('/index.html') ?? null, file: (path) => files.get(path) ?? null };
}

/** A name with a hash never changes its content. */
function cacheOf(path: string): Readonly<Record<string, string>> {
  return /-[\w-]{8,}\.\w+$/.test(path)
    ? { 'cache-control': 'private, max-age=31536000, immutable' }
    : {};
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .map((path) => path.replaceAll('\\', '/'));
  } catch {
    return [];
  }
}
