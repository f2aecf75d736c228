/**
 * `npm run docs`: writes the API reference into docs/api, a page for each entry point. It is made from the
 * build.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../test/support/exports.ts';
import { apiPage, entryPoints } from './apiPage.ts';

const folder = join(ROOT, 'docs', 'api');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const pages = [...entryPoints()].map(([entry, file]) => {
  const name = `${entry.replace('/', '-')}.md`;
  writeFileSync(join(folder, name), apiPage(entry, file));
  return `- [${entry}](${name})`;
});
writeFileSync(join(folder, 'README.md'), `# API reference\n\n${pages.join('\n')}\n`);
console.error(`wrote ${pages.length + 1} pages in ${folder}`);
