/**
 * Pictures of the page next to those that were kept. The browser itself reads, writes and compares them, so
 * that nothing else has to.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';

/** What was seen where it differs, for you to look at. */
const seen = 'runs/.pictures';
/** Of 255, in any colour: what antialiasing may differ by. */
const COLOUR = 40;

export interface Picture {
  /** A .png, or a .webp, which is smaller and not exact. */
  readonly path: string;
  /** As a screenshot: PNG. */
  readonly now: Buffer;
  /** The share of pixels that may differ by more. */
  readonly share?: number;
}

/** A sentence where the picture is not the one that was kept; null where it is, or where it is kept now. */
export async function pictureDiffers(
  browser: Browser,
  { path, now: taken, share = 0.003 }: Picture,
): Promise<string | null> {
  const page = await browser.newPage();
  try {
    const now = path.endsWith('.webp') ? await webp(page, taken) : taken;
    if (process.env.MILLRACE_KEEP_PICTURES === '1') {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, now);
      return null;
    }
    if (!existsSync(path)) return `${path}: none was kept; MILLRACE_KEEP_PICTURES=1 keeps it`;
    const why = await difference(page, [readFileSync(path), now], share);
    if (why === null) return null;
    mkdirSync(seen, { recursive: true });
    const other = join(seen, path.split('/').at(-1)!);
    writeFileSync(other, now);
    return `${path}: ${why}; see ${other} beside it`;
  } finally {
    await page.close();
  }
}

const image = `const bitmapOf = async (text) =>
  createImageBitmap(await (await fetch('data:application/octet-stream;base64,' + text)).blob());
const canvasOf = async (text) => {
  const image = await bitmapOf(text);
  const canvas = new OffscreenCanvas(image.width, image.height);
  canvas.getContext('2d').drawImage(image, 0, 0);
  return canvas;
};`;

async function webp(page: Page, png: Buffer): Promise<Buffer> {
  const script = `(async (text) => {
    ${image}
    const blob = await (await canvasOf(text)).convertToBlob({ type: 'image/webp', quality: 0.6 });
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  })(${JSON.stringify(png.toString('base64'))})`;
  return Buffer.from(await page.evaluate<string>(script), 'base64');
}

async function difference(
  page: Page,
  files: readonly [Buffer, Buffer],
  share: number,
): Promise<string | null> {
  const script = `(async (files) => {
    ${image}
    const pixels = async (text) => {
      const canvas = await canvasOf(text);
      return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    };
    const [one, other] = [await pixels(files[0]), await pixels(files[1])];
    const size = ({ width, height }) => width + ' × ' + height;
    if (size(one) !== size(other)) return 'it is ' + size(other) + ' and was ' + size(one);
    let differ = 0;
    for (let at = 0; at < one.data.length; at += 4) {
      const by = Math.max(...[0, 1, 2].map((c) => Math.abs(one.data[at + c] - other.data[at + c])));
      if (by > ${COLOUR}) differ++;
    }
    const share = differ / (one.data.length / 4);
    return share > ${share} ? (100 * share).toFixed(2) + ' % of its pixels differ' : null;
  })(${JSON.stringify(files.map((file) => file.toString('base64')))})`;
  return page.evaluate<string | null>(script);
}
