/**
 * One file of the Hub onto the disk.
 *
 * Guarantees: under its name it is whole and has the digest that the Hub gives; until then it is beside it
 * (`.incomplete`, as `huggingface_hub` calls it) and is resumed from there, whoever began it. Two processes
 * that download the same file write the same bytes to the same places.
 */
import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { MillraceError, type SleepClock, systemCode, writingTo } from '../../base/index.ts';
import { type Hub, Passing } from './hub.ts';
import type { HubFile } from './neededFiles.ts';

export interface DownloadOptions {
  readonly hub: Hub;
  readonly commit: string;
  readonly clock: SleepClock;
  readonly signal: AbortSignal;
  /** Bytes received. */
  readonly onBytes: (bytes: number) => void;
  readonly say: (line: string) => void;
}

/** Failures in a row, without a byte in between. */
const FAILURES_MAX = 5;
const FIRST_WAIT_MS = 1000;

export function incomplete(path: string): string {
  return `${path}.incomplete`;
}

/** Bytes of it already on disk. */
export async function bytesHere(path: string, { bytes }: HubFile): Promise<number> {
  if ((await sizeOf(path)) === bytes) return bytes;
  const part = await sizeOf(incomplete(path));
  return part <= bytes ? part : 0;
}

export async function download(
  file: HubFile,
  path: string,
  options: DownloadOptions,
): Promise<void> {
  const part = incomplete(path);
  const { O_RDWR, O_CREAT, O_NOFOLLOW = 0 } = constants;
  const handle = await writingTo(part, () => open(part, O_RDWR | O_CREAT | O_NOFOLLOW, 0o644));
  try {
    await filled(handle, file, part, options);
    await writingTo(part, () => handle.sync());
  } finally {
    await handle.close();
  }
  try {
    if ((await hubDigest(part, file, options.signal)) !== file.digest)
      throw await wrong(file, part);
    await rename(part, path);
  } catch (error) {
    // Another process downloaded it faster.
    if (systemCode(error) !== 'ENOENT' || (await sizeOf(path)) !== file.bytes) throw error;
  }
}

async function wrong({ path, digest }: HubFile, part: string): Promise<MillraceError> {
  await rm(part, { force: true });
  return new MillraceError(
    'HUB',
    `${path} does not have the digest that the Hub lists (${digest}); the download was removed: repeat the command`,
  );
}

async function filled(
  handle: FileHandle,
  file: HubFile,
  part: string,
  options: DownloadOptions,
): Promise<void> {
  const { hub, commit, clock, signal, onBytes, say } = options;
  let { size: at } = await handle.stat();
  if (at > file.bytes) {
    await handle.truncate(0);
    at = 0;
  }
  let failures = 0;
  while (at < file.bytes) {
    try {
      for await (const piece of hub.read({ commit, file, from: at }, signal)) {
        if (at + piece.length > file.bytes)
          throw new MillraceError(
            'HUB',
            `${file.path} is longer than the Hub says (${file.bytes} bytes): repeat the command`,
          );
        await writingTo(part, () => whole(handle, piece, at));
        at += piece.length;
        failures = 0;
        onBytes(piece.length);
      }
      if (at < file.bytes) throw new Passing('HUB', `the connection to ${hub.url} ended early`);
    } catch (error) {
      signal.throwIfAborted();
      failures += 1;
      if (!(error instanceof Passing) || failures > FAILURES_MAX) throw error;
      const waitMs = FIRST_WAIT_MS * 2 ** (failures - 1);
      say(`${file.path}: ${error.message}; resuming in ${waitMs / 1000} s`);
      await clock.sleep(waitMs, signal);
    }
  }
}

async function whole(handle: FileHandle, piece: Uint8Array, at: number): Promise<void> {
  let written = 0;
  while (written < piece.length) {
    const { bytesWritten } = await handle.write(
      piece,
      written,
      piece.length - written,
      at + written,
    );
    written += bytesWritten;
  }
}

/** As the Hub computes it: SHA-256 of the bytes, or git's SHA-1 of a blob. */
export async function hubDigest(
  path: string,
  { digest, bytes }: HubFile,
  signal: AbortSignal,
): Promise<string> {
  const isSha256 = digest.length === 64;
  const hash = createHash(isSha256 ? 'sha256' : 'sha1');
  if (!isSha256) hash.update(`blob ${bytes}\0`);
  await pipeline(createReadStream(path), hash, { signal });
  return hash.digest('hex');
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
