/**
 * Reads the JSON of a request within bounds: of one body, and of all open ones together. A body that is too
 * large is read to its end and dropped before it is refused, since a client that is still sending does not
 * hear the refusal.
 */
import type { IncomingMessage } from 'node:http';
import { BodyReader, Refusal } from '../../base/http/index.ts';
import type { Clock } from '../../base/index.ts';
import { GatewayRefusal } from '../conversation.ts';

/** Most bodies that arrive at once. */
const READING_MAX = 256;
/** How much of a body is dropped, in multiples of what is allowed. */
const DROPPED_MAX = 8;

export class Bodies {
  readonly #reader: BodyReader;
  readonly #bytesMax: number;
  readonly #heldMax: number;
  #held = 0;

  /** `bytesMax` for one body, `heldMax` for all that are in use. */
  constructor(bytesMax: number, heldMax: number, clock: Clock) {
    this.#reader = new BodyReader(READING_MAX, clock);
    this.#bytesMax = bytesMax;
    this.#heldMax = heldMax;
  }

  /** Gives the text to `use`. It counts from before it arrives until `use` has settled. */
  async with<Value>(from: IncomingMessage, use: (text: string) => Promise<Value>): Promise<Value> {
    const declared = Number(from.headers['content-length'] ?? this.#bytesMax);
    // What is too large is not kept.
    let bytes = declared <= this.#bytesMax ? declared : 0;
    if (this.#held + bytes > this.#heldMax) throw busy();
    this.#held += bytes;
    try {
      const text = await this.#read(from);
      this.#held -= bytes;
      bytes = Buffer.byteLength(text);
      this.#held += bytes;
      return await use(text);
    } finally {
      this.#held -= bytes;
    }
  }

  async #read(from: IncomingMessage): Promise<string> {
    try {
      return await this.#reader.read(from, this.#bytesMax, () => new Refusal(429, ''));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 429) throw busy();
      if (error.status !== 413) throw new GatewayRefusal('invalid', error.message);
      await drop(from, this.#bytesMax * DROPPED_MAX);
      const words = `${error.message}: leave older messages out, or shorten what tools return`;
      throw new GatewayRefusal('size', words);
    }
  }
}

function busy(): GatewayRefusal {
  return new GatewayRefusal('unavailable', 'too many requests at once; try again later');
}

/** Reads to the end, or to a bound. */
async function drop(from: IncomingMessage, bytesMax: number): Promise<void> {
  let bytes = 0;
  const arriving: AsyncIterable<Buffer> = from.iterator({ destroyOnReturn: false });
  for await (const part of arriving) {
    bytes += part.length;
    if (bytes > bytesMax) return;
  }
}

/** Throws a `GatewayRefusal` if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 recurses through nested lists on its stack.
    const why = error instanceof RangeError ? 'nested too deeply' : (error as Error).message;
    throw new GatewayRefusal('invalid', `the body is not JSON: ${why}`);
  }
}
