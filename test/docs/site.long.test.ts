/**
 * The documentation's site, built as `npm run docs:site` does: every link and heading in it, the search, a
 * page in the browser, edit links.
 */
import { execFile } from 'node:child_process';
import { createReadStream, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { chromiumPath, launch } from '../support/chromium.ts';
import { ROOT } from '../support/exports.ts';

const site = join(ROOT, 'docs', '.vitepress', 'dist');
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
};

/** Pages of the site by their paths: /jobs.html. */
const html = new Map<string, string>();
let server: Server;
let origin: string;

beforeAll(async () => {
  rmSync(site, { recursive: true, force: true });
  const env = { ...process.env, MILLRACE_REPOSITORY: 'https://git.example.org/millrace.git' };
  const run = promisify(execFile);
  for (const script of [['scripts/docs/main.ts'], ['scripts/docs/site.ts', 'build']]) {
    await run(process.execPath, ['--import', 'tsx', ...script], { cwd: ROOT, env });
  }
  for (const file of readdirSync(site, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.html')) html.set(`/${file}`, readFileSync(join(site, file), 'utf8'));
  }
  server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://site');
    const path = join(site, decodeURI(pathname), pathname.endsWith('/') ? 'index.html' : '');
    if (!existsSync(path) || statSync(path).isDirectory())
      return void response.writeHead(404).end();
    response.setHeader('content-type', TYPES[path.split('.').at(-1)!] ?? 'text/plain');
    createReadStream(path).pipe(response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 900_000);
afterAll(() => void server?.close());

describe('the documentation’s site', () => {
  test('has every page, and each link in one leads to a page and a heading of it', () => {
    expect(html.size).toBeGreaterThan(60);
    const dead: string[] = [];
    let links = 0;
    for (const [path, text] of html) {
      if (path === '/404.html') continue;
      for (const [, href] of text.matchAll(/<a [^>]*href="([^"]+)"/g)) {
        if (/^[a-z]+:/i.test(href!)) continue;
        links++;
        const { pathname, hash } = new URL(href!, `http://site${path}`);
        const page =
          html.get(pathname.endsWith('/') ? `${pathname}index.html` : pathname) ??
          html.get(`${pathname}.html`);
        const anchor = decodeURIComponent(hash.slice(1)).replace(/&/g, '&amp;');
        if (page === undefined) dead.push(`${path}: ${href}`);
        else if (anchor !== '' && !page.includes(`id="${anchor}"`)) dead.push(`${path}: ${href}`);
      }
    }
    expect(links).toBeGreaterThan(2_000);
    expect(dead).toEqual([]);
  });

  test('has the sources that pages link to in the repository, and an edit link where a page is a file', () => {
    const has = (page: string, href: string): boolean => html.get(page)!.includes(href);
    const repository = 'https://git.example.org/millrace';
    expect(has('/jobs.html', `${repository}/blob/main/jobs/ready/etAgent.ts`)).toBe(true);
    expect(has('/jobs.html', `${repository}/edit/main/docs/jobs.md`)).toBe(true);
    expect(has('/reference/commands.html', '/edit/main/')).toBe(false);
  });

  test('has the reference of commands, settings and topics', () => {
    expect(html.get('/reference/commands.html')).toContain('--where');
    expect(html.get('/reference/settings.html')).toContain('finetune.entropyMin');
    expect(html.get('/reference/topics.html')).toContain('consumed');
    expect(html.get('/api/millrace-streams.html')).toContain('mapEach');
  });

  const inBrowser = chromiumPath === undefined ? test.skip : test;
  inBrowser('is read, searched and darkened in a browser that asks no one else', async () => {
    const wrong: string[] = [];
    const browser: Browser = await launch();
    try {
      const context = await browser.newContext({ colorScheme: 'dark', reducedMotion: 'reduce' });
      const page: Page = await context.newPage();
      page.on('pageerror', (error) => wrong.push(error.message));
      page.on('request', (request) => {
        if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
          wrong.push(request.url());
      });
      await page.goto(`${origin}/concepts.html`);
      expect(await page.locator('h1').textContent()).toContain('Concepts');
      expect(await page.locator('html').getAttribute('class')).toContain('dark');
      await page.locator('#local-search button').first().click();
      await page.locator('#localsearch-input').fill('crowding distance');
      await page.locator('.result').first().waitFor();
      expect(await page.locator('.results').textContent()).toContain('Pareto');
    } finally {
      await browser.close();
    }
    expect(wrong).toEqual([]);
  });
});
