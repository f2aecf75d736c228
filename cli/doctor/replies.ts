/**
 * The replies of text models that a run keeps next to its log (`replies.mdb`, `judge.mdb`): files of lmdb,
 * which must be whole.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { lmdbDamage } from '../../base/lmdb/index.ts';
import type { Finding } from '../../streams/doctor/index.ts';

export async function checkReplies(folder: string): Promise<readonly Finding[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.mdb')).sort();
  return names.flatMap((where) => {
    const why = lmdbDamage(join(folder, where));
    if (why === null) return [];
    const what = `cannot read the replies of text models: the file ${why}`;
    const advice =
      'restore the file from a backup, or delete it: the models are then asked again and may answer differently';
    return [{ rule: 'replies', where, what, advice }];
  });
}
