/** The body of a request, of bounded size. */
import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.ts';

/**
 * As text. Rejects with a `Refusal` if it is packed, longer than `bytesMax` or not UTF-8; then the
 * connection is still open, so that the refusal arrives, and the caller discards the rest (`from.resume()`).
 */
export async function postedBody(from: IncomingMessage, bytesMax: number): Promise<string> {
  const tooLarge = (): Refusal => new Refusal(413, `the body is larger than ${bytesMax} bytes`);
  const packing = from.headers['content-encoding'] ?? 'identity';
  if (packing !== 'identity') {
    throw new Refusal(415, `send the body as it is, without content-encoding ${packing}`);
  }
  if (Number(from.headers['content-length'] ?? 0) > bytesMax) throw tooLarge();
  const parts: Buffer[] = [];
  let bytes = 0;
  const arriving: AsyncIterable<Buffer> = from.iterator({ destroyOnReturn: false });
  for await (const part of arriving) {
    bytes += part.length;
    if (bytes > bytesMax) throw tooLarge();
    parts.push(part);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch {
    throw new Refusal(400, 'the body is not UTF-8');
  }
}
