/** A JSON file in a run's folder that the run relies on, whatever its servers say later. */
import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { MillraceError, systemCode } from '../base/index.ts';

/** Null = the run has none yet. `what` = what it records, for the error. Fails with code `DAMAGED`. */
export async function keptJson<T>(
  path: string,
  shape: z.ZodType<T>,
  what: string,
): Promise<T | null> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  try {
    return shape.parse(JSON.parse(text));
  } catch (cause) {
    throw new MillraceError(
      'DAMAGED',
      `cannot read ${path}, which records ${what}. Restore it, or start another run (--run NAME)`,
      { cause },
    );
  }
}
