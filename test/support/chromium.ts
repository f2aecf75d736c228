/** The distribution's Chromium: where it is, and how it is launched the same everywhere. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Undefined if there is none. */
export const chromiumPath = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
].find((one) => one !== undefined && existsSync(one));

const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--font-render-hinting=none',
  '--force-color-profile=srgb',
];

/** A launch hangs once in a while: it is tried a second time, nothing else is. */
export async function launch(more: readonly string[] = []): Promise<Browser> {
  const options = { executablePath: chromiumPath!, args: [...args, ...more], timeout: 20_000 };
  return chromium.launch(options).catch(() => chromium.launch({ ...options, timeout: 60_000 }));
}
