/** The sidebar: the sections and links of docs/README.md, which is the one place that orders the pages. */
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { DefaultTheme } from 'vitepress';
import { pagePath, ROOT } from './places.ts';

export function contents(): DefaultTheme.SidebarItem[] {
  const page = readFileSync(join(ROOT, 'docs', 'README.md'), 'utf8');
  return page
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.split('\n')[0]!,
      collapsed: false,
      items: [...section.matchAll(/\[([^\]]+)\]\(([^)#]+\.md)\)/g)].map(([, text, file]) => ({
        text: text!,
        link: `/${pagePath(posix.join('docs', file!)).replace(/(index)?\.md$/, '')}`,
      })),
    }));
}
