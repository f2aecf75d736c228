/**
 * The documentation site: the pages of docs/ in the order of docs/README.md, with the READMEs of the examples
 * and the generated reference. `npm run docs:site` builds it; a dead link fails the build.
 */
import { readdirSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { contents } from './contents.ts';
import { copySources, linksToPages, uncoloured } from './links.ts';
import { EDIT, pagePath, ROOT } from './places.ts';

const withPages = ['docs', 'examples', 'bench'];
const topLevel = readdirSync(ROOT, { withFileTypes: true });

export default defineConfig({
  srcDir: '..',
  srcExclude: [
    ...topLevel
      .filter((entry) => entry.isDirectory() && !withPages.includes(entry.name))
      .map(({ name }) => `${name}/**`),
    ...['README.md', 'CONTRIBUTING.md', 'DECISIONS.md', 'docs/.vitepress/**'],
  ],
  rewrites: pagePath,
  cleanUrls: false,
  title: 'Millrace',
  description: 'Trains tool-using language-model agents as a stream of durable topics.',
  lang: 'en-GB',
  // Nothing from outside the site: no fonts or scripts from elsewhere, no build time.
  lastUpdated: false,
  metaChunk: true,
  markdown: {
    html: false,
    lineNumbers: false,
    config: linksToPages,
  },
  themeConfig: {
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Commands', link: '/reference/commands' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: contents(),
    outline: [2, 3],
    search: { provider: 'local', options: { _render: uncoloured } },
    externalLinkIcon: false,
    ...(EDIT === null ? {} : { editLink: { pattern: `${EDIT}/:path`, text: 'Edit this page' } }),
  },
  transformPageData(page) {
    // Generated pages are edited in the sources.
    if (/^docs\/(api|reference)\//.test(page.filePath)) page.frontmatter.editLink = false;
  },
  buildEnd: ({ outDir }) => copySources(outDir),
  vite: {
    build: { chunkSizeWarningLimit: 4_000 },
    server: { fs: { allow: [ROOT] } },
  },
});
