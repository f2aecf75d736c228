/**
 * What killed processes left of a run: partial weights in its folder, and folders next to it that commands
 * worked in.
 */
import { dirname, join } from 'node:path';
import { type Leftover, leftoversIn } from '../base/index.ts';
import { LOCAL_FOLDER } from '../model/checkpoints/index.ts';
import { PUBLISHED_FOLDER } from '../model/remote/index.ts';
import type { Run } from './runs.ts';

/** `alone` = only this process can be writing the run. */
export async function leftoversOf(
  { folder }: Run,
  { alone }: { readonly alone: boolean },
): Promise<readonly Leftover[]> {
  const found = await Promise.all([
    ...[LOCAL_FOLDER, PUBLISHED_FOLDER].map((name) =>
      leftoversIn(join(folder, name), 'files', { alone }),
    ),
    leftoversIn(dirname(folder), 'scratch'),
  ]);
  return found.flat();
}
