/**
 * What the page's browser tests share: the distribution's Chromium, the real server as a process of its own,
 * and a page that notes everything that must not happen (errors, broken rules of the content security policy,
 * requests to elsewhere).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromiumPath } from '../../support/chromium.ts';

export { launch } from '../../support/chromium.ts';

/** A suite in Chromium; skipped, with the reason in its name, where there is none. */
export function withBrowser(name: string, suite: () => void): void {
  if (chromiumPath !== undefined) describe(name, suite);
  else describe.skip(`${name} (no Chromium: apt-get install chromium, or CHROMIUM=/path)`, suite);
}

export interface Viewer {
  readonly link: string;
  readonly origin: string;
  readonly port: number;
  /** The token of control; '' without `--control`. */
  readonly control: string;
  kill(): Promise<void>;
}

/** `millrace view` from the sources, on this port (0: any). */
export async function view(runs: string, port = 0, more: readonly string[] = []): Promise<Viewer> {
  const token = 'tests-of-the-page-0123456789';
  const child = command('view', '--runs', runs, '--port', String(port), '--token', token, ...more);
  const [, control = '', link = ''] = await said(
    child,
    /(?:control token: (\S+)[\s\S]*)?page at (http\S+)/,
  );
  const url = new URL(link);
  return { link, origin: url.origin, port: Number(url.port), control, kill: () => end(child) };
}

/** The command line from the sources, in a process of its own. */
export function command(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', 'cli/main.ts', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

async function said(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let text = '';
  // It stays open after that: the command may say more.
  for await (const chunk of child.stderr!.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    const match = pattern.exec(text);
    if (match === null) continue;
    child.stderr!.resume();
    return match;
  }
  throw new Error(`the command ended without ${pattern}: ${text}`);
}

export interface Watched {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What must not happen; a test expects it to be empty. */
  readonly wrong: string[];
}

export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  /** False: as in a browser without JavaScript. */
  readonly script?: boolean;
}

/** A page that has followed the link, in a context of its own. */
export async function watched(
  browser: Browser,
  viewer: Pick<Viewer, 'link' | 'origin'>,
  look: Look = {},
): Promise<Watched> {
  const { width = 1280, height = 900, scheme = 'light', script = true } = look;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    javaScriptEnabled: script,
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
    locale: 'en-GB',
    permissions: [],
  });
  context.setDefaultTimeout(30_000);
  const wrong: string[] = [];
  await context.addInitScript(`addEventListener('securitypolicyviolation', (event) => {
    console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI);
  });`);
  const page = await context.newPage();
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    // A server that is away is said by the browser itself; tests that end the server expect it.
    if (message.type() === 'error' && !/net::ERR_|status of 4\d\d/.test(message.text())) {
      wrong.push(`console: ${message.text()}`);
    }
  });
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol !== 'data:' && url.origin !== viewer.origin) wrong.push(`asked ${url.href}`);
  });
  await page.goto(viewer.link);
  return { page, context, wrong };
}

/**
 * A view without what differs from time to time: ages, durations, sizes, the folder, and which place in its
 * topic a record took.
 */
export function steady(aria: string): string {
  return aria
    .replace(/\b(\d+ (s|min|h|d) ago|now ago)\b/g, 'AGE ago')
    .replace(/\b\d+ (s|min|h|d)\b/g, 'AGE')
    .replace(/\b\d+(\.\d+)? ms\b/g, 'MS ms')
    .replace(/\b\d+(\.\d+)? ([KMG]i)?B\b/g, 'SIZE')
    .replace(/(\w+_ms|\w+_s) [\d.,e+-]+/g, '$1 N')
    .replace(/\/\S*millrace-\w+/g, 'FOLDER')
    .replace(/\b\d+ of \d+\b/g, 'N of N')
    .replace(/(\/t\/|offset=|rollouts )\d+/g, '$1N');
}

/**
 * Asks again and again until it is so; fails with `what` after `timeoutMs`. (Playwright's own way needs eval,
 * which the page forbids.)
 */
export async function until(
  what: string,
  holds: () => Promise<boolean>,
  timeoutMs = 40_000,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`it was never so: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
