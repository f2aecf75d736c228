/**
 * Refuses a PDF file whose streams decompress to more than a reader of text needs: pdf.js decompresses a
 * stream as a whole, outside the heap that a thread's limit bounds.
 *
 * Flate streams are checked, including nested ones. Other compression is left to the time limit.
 */
import { constants, inflateSync } from 'node:zlib';

const MB = 2 ** 20;
const STREAM_MAX = 32 * MB;
const ALL_MAX = 256 * MB;

/** How many nested compressions of a stream to check. */
const LAYERS = 4;

/** Throws a sentence. */
export function checkPdfStreams(bytes: Uint8Array): void {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let all = 0;
  for (let at = file.indexOf('stream'); at >= 0; at = file.indexOf('stream', at + 6)) {
    let start = at + 6;
    if (file[start] === 0x0d) start++;
    if (file[start] === 0x0a) start++;
    all += unpackedSize(file.subarray(start), LAYERS);
    if (all > ALL_MAX) throw tooLarge();
  }
}

/** Sizes of its content and, if that is compressed too, of what is in that. */
function unpackedSize(packed: Buffer, layers: number): number {
  if (layers === 0 || !isFlate(packed)) return 0;
  try {
    const inner = inflateSync(packed, { maxOutputLength: STREAM_MAX, finishFlush });
    return inner.length + unpackedSize(inner, layers - 1);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    if (error instanceof TooLarge) throw error;
    // Not a stream, or a broken one: pdf.js handles it.
    return 0;
  }
}

/** A truncated stream is decompressed as far as possible, as in pdf.js. */
const finishFlush = constants.Z_SYNC_FLUSH;

function isFlate(bytes: Buffer): boolean {
  return bytes.length > 2 && (bytes[0]! & 0x0f) === 8 && bytes.readUInt16BE(0) % 31 === 0;
}

class TooLarge extends Error {}

function tooLarge(): Error {
  return new TooLarge('it unpacks to an implausible size');
}
