/**
 * Links between files, as they work in the repository, become links between the site's pages. A source file
 * has no page: its link leads to the repository's web page, or, while there is none, to a copy of its text in
 * the site.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import type { MarkdownOptions } from 'vitepress';
import { pagePath, REPOSITORY, ROOT } from './places.ts';

type Markdown = Parameters<NonNullable<MarkdownOptions['config']>>[0];

/** The files outside docs/ that are pages. */
const PAGES = /^(docs\/.*|examples\/\w+\/README|bench\/\w+|CHANGELOG)\.md$/;
/** Made by `npm run docs` before a build. */
const GENERATED = /^docs\/(api|reference)\//;
/** The sources that pages link to, as paths from the root. */
const linked = new Set<string>();

export function linksToPages(markdown: Markdown): void {
  markdown.core.ruler.push('links-to-pages', ({ tokens, env }) => {
    // The path before it was rewritten.
    const from = relative(ROOT, String(env.realPath ?? env.path))
      .split(sep)
      .join('/');
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type !== 'link_open') continue;
      const href = token.attrGet('href') ?? '';
      if (/^([a-z][a-z+.-]*:|#|\/)/i.test(href)) continue;
      const target = site(href, from);
      token.attrSet('href', target);
      if (target.startsWith('/source/')) token.attrSet('target', '_blank');
    }
  });
}

/** A page for the search index, which ignores colours: highlighting is a third of the build time. */
export function uncoloured(text: string, env: object, markdown: Markdown): string {
  const { highlight } = markdown.options;
  markdown.options.highlight = null;
  try {
    return markdown.render(text, env);
  } finally {
    markdown.options.highlight = highlight;
  }
}

function site(href: string, from: string): string {
  const [path = '', hash] = href.split('#');
  const anchor = hash === undefined ? '' : `#${hash}`;
  const given = posix.join(posix.dirname(from), decodeURI(path)).replace(/\/$/, '');
  const readme = `${given}/README.md`;
  const file = PAGES.test(readme) && existsSync(join(ROOT, readme)) ? readme : given;
  if (PAGES.test(file)) return `/${pagePath(file).replace(/(index)?\.md$/, '')}${anchor}`;
  if (GENERATED.test(file)) return `/${pagePath(file)}${anchor}`;
  if (!existsSync(join(ROOT, file)))
    throw new Error(`${from}: it links to ${href}, which does not exist`);
  if (REPOSITORY !== null) return `${REPOSITORY}/blob/main/${file}${anchor}`;
  linked.add(file);
  return `/source/${file}.txt`;
}

/** The linked sources as text; for a folder the names of its files. */
export function copySources(outDir: string): void {
  for (const path of linked) {
    const source = join(ROOT, path);
    const to = join(outDir, 'source', `${path}.txt`);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(
      to,
      statSync(source).isDirectory() ? `${readdirSync(source).join('\n')}\n` : readFileSync(source),
    );
  }
}
