/** The body of a request, of bounded size. */
import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.ts';
import { wholeBody } from './wholeBody.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The body as text. Rejects with a `Refusal` if it is compressed, longer than `bytesMax` or not UTF-8; the
 * connection is then still open, so that the refusal arrives, and the caller discards the rest
 * (`from.resume()`).
 */
export async function postedBody(from: IncomingMessage, bytesMax: number): Promise<string> {
  const tooLarge = (): Refusal => new Refusal(413, `the body is larger than ${bytesMax} bytes`);
  const packing = from.headers['content-encoding'] ?? 'identity';
  if (packing !== 'identity') {
    throw new Refusal(415, `send the body as it is, without content-encoding ${packing}`);
  }
  if (Number(from.headers['content-length'] ?? 0) > bytesMax) throw tooLarge();
  const bytes = await wholeBody(from, bytesMax, tooLarge);
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Refusal(400, 'the body is not UTF-8');
  }
}
