/**
 * `verified.json` in a run's folder: the last result of `replay --verify`, for the page. It is not part of
 * the run, and nothing else is lost without it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../base/index.ts';

const schema = z.object({
  atMs: z.number(),
  ok: z.boolean(),
  /** Those that were recomputed and are equal. */
  records: z.number(),
  /** A sentence. */
  text: z.string(),
});

export type VerifiedNote = Readonly<z.infer<typeof schema>>;

const fileName = 'verified.json';

export async function noteVerified(folder: string, note: VerifiedNote): Promise<void> {
  await replaceFile(join(folder, fileName), `${JSON.stringify(note, null, 2)}\n`).catch(
    () => undefined,
  );
}

export async function readVerified(folder: string): Promise<VerifiedNote | null> {
  const text = await readFile(join(folder, fileName), 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
