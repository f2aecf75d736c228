/**
 * `npm run docs`: writes the reference into docs/api (a page for each entry point, from the build) and
 * docs/reference (commands, settings, presets, topics, names for Prometheus, from the code).
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../test/support/exports.ts';
import { apiPage, entryPoints } from './apiPage.ts';
import { commandsPage } from './commandsPage.ts';
import { presetsPage } from './presetsPage.ts';
import { prometheusPage } from './prometheusPage.ts';
import { settingsPage } from './settingsPage.ts';
import { topicsPage } from './topicsPage.ts';

function write(folder: string, pages: Readonly<Record<string, string>>): void {
  const path = join(ROOT, 'docs', folder);
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  for (const [name, text] of Object.entries(pages)) writeFileSync(join(path, name), text);
  console.error(`wrote ${Object.keys(pages).length} pages in ${path}`);
}

const api = [...entryPoints()].map(([entry, file]) => ({
  entry,
  name: `${entry.replace('/', '-')}.md`,
  text: apiPage(entry, file),
}));
write('api', {
  ...Object.fromEntries(api.map(({ name, text }) => [name, text])),
  'README.md': `# API reference\n\n${api.map(({ entry, name }) => `- [${entry}](${name})`).join('\n')}\n`,
});
write('reference', {
  'commands.md': await commandsPage(),
  'settings.md': settingsPage(),
  'presets.md': presetsPage(),
  'topics.md': topicsPage(),
  'prometheus.md': prometheusPage(),
});
