/**
 * Pictures of parts of the page next to those that were kept. Only drawings are compared, without their text:
 * fonts differ from machine to machine, boxes that are sized by text too. The browser itself reads and
 * compares them, so that nothing else has to.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator } from 'playwright-core';

const kept = 'test/page/browser/__pictures__';
/** What was seen where it differs, for you to look at. */
const seen = 'runs/.pictures';
/** Of 255, in any colour: what antialiasing may differ by. */
const COLOUR = 40;
/** The share of pixels that may differ by more. */
const PIXELS = 0.003;

/** A sentence where the picture is not the one that was kept; null where it is, or where it is kept now. */
export async function pictureDiffers(
  browser: Browser,
  part: Locator,
  name: string,
): Promise<string | null> {
  const now = await part.screenshot({ animations: 'disabled' });
  const path = join(kept, `${name}.png`);
  if (process.env.MILLRACE_KEEP_PICTURES === '1') {
    mkdirSync(kept, { recursive: true });
    writeFileSync(path, now);
    return null;
  }
  if (!existsSync(path)) return `${name}: none was kept; MILLRACE_KEEP_PICTURES=1 keeps it`;
  const why = await difference(browser, readFileSync(path), now);
  if (why === null) return null;
  mkdirSync(seen, { recursive: true });
  writeFileSync(join(seen, `${name}.png`), now);
  return `${name}: ${why}; see ${join(seen, `${name}.png`)} beside ${path}`;
}

async function difference(browser: Browser, a: Buffer, b: Buffer): Promise<string | null> {
  const page = await browser.newPage();
  try {
    const script = `(async ([a, b]) => {
      const pixels = async (text) => {
        const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
        const pen = new OffscreenCanvas(image.width, image.height).getContext('2d');
        pen.drawImage(image, 0, 0);
        return pen.getImageData(0, 0, image.width, image.height);
      };
      const [one, other] = [await pixels(a), await pixels(b)];
      const size = ({ width, height }) => width + ' × ' + height;
      if (size(one) !== size(other)) return 'it is ' + size(other) + ' and was ' + size(one);
      let differ = 0;
      for (let at = 0; at < one.data.length; at += 4) {
        const by = Math.max(...[0, 1, 2].map((c) => Math.abs(one.data[at + c] - other.data[at + c])));
        if (by > ${COLOUR}) differ++;
      }
      const share = differ / (one.data.length / 4);
      return share > ${PIXELS} ? (100 * share).toFixed(2) + ' % of its pixels differ' : null;
    })(${JSON.stringify([a.toString('base64'), b.toString('base64')])})`;
    return await page.evaluate<string | null>(script);
  } finally {
    await page.close();
  }
}
