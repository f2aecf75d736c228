/** Reads a whole body of bounded size. */
import type { Readable } from 'node:stream';

/**
 * Rejects with the body's own error, or with the result of `tooLarge` if it has more than `bytesMax`; the
 * rest is then unread, and nothing of it is kept.
 */
export function wholeBody(
  body: Readable,
  bytesMax: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const take = (part: Buffer): void => {
      bytes += part.length;
      parts.push(part);
      if (bytes <= bytesMax) return;
      parts.length = 0;
      body.off('data', take).pause();
      reject(tooLarge());
    };
    body.on('data', take);
    body.once('end', () => resolve(Buffer.concat(parts)));
    body.on('error', reject);
    const closed = (): void => {
      if (!body.readableEnded) reject(new Error('the body ended too soon'));
    };
    if (body.closed) closed();
    else body.once('close', closed);
  });
}
