/** Where things are: the repository, a page's address in the site, and where a page is edited. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** For a page's file in the repository: docs/jobs.md → jobs.md, docs/README.md → index.md. */
export function pagePath(file: string): string {
  return file.replace(/^docs\//, '').replace(/README\.md$/, 'index.md');
}

const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly repository?: string | { readonly url: string };
};
const given =
  process.env.MILLRACE_REPOSITORY ??
  (typeof repository === 'string' ? repository : repository?.url);

/** The repository's web page; null if neither package.json nor MILLRACE_REPOSITORY names one. */
export const REPOSITORY = given?.replace(/^git\+|\.git$/g, '') ?? null;
export const EDIT = REPOSITORY === null ? null : `${REPOSITORY}/edit/main`;
