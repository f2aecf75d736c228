/**
 * `verified.json` in a run's folder: the last result of `replay --verify`, for the page. It is not part of
 * the run, and nothing else is lost without it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../../base/index.ts';
import {
  avroCodec,
  flag,
  record,
  text,
  type ValueOf,
  whole,
} from '../../streams/contracts/index.ts';

const note = record('Verified', {
  atMs: whole,
  ok: flag,
  /** Records recomputed and equal. */
  records: whole,
  /** A sentence. */
  text,
});
const codec = avroCodec('a verification', note);

export interface VerifiedNote extends ValueOf<typeof note> {}

const fileName = 'verified.json';

export async function noteVerified(folder: string, note: VerifiedNote): Promise<void> {
  await replaceFile(join(folder, fileName), `${JSON.stringify(note, null, 2)}\n`).catch(
    () => undefined,
  );
}

export async function readVerified(folder: string): Promise<VerifiedNote | null> {
  const json = await readFile(join(folder, fileName), 'utf8').catch(() => null);
  if (json === null) return null;
  try {
    return codec.decode(codec.encode(JSON.parse(json)));
  } catch {
    return null;
  }
}
