/** The body of a request, of bounded size. */
import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.ts';

/** As text. Rejects with a `Refusal` where it is longer than `bytesMax` or not UTF-8. */
export async function postedBody(from: IncomingMessage, bytesMax: number): Promise<string> {
  const tooLarge = (): Refusal => new Refusal(413, `a request may hold ${bytesMax} bytes`);
  if (Number(from.headers['content-length'] ?? 0) > bytesMax) throw tooLarge();
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of from as AsyncIterable<Buffer>) {
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
