/** The replies of text models that a run keeps beside its log (`replies.mdb`, `judge.mdb`): files of lmdb, which must be whole. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { lmdbDamage } from '../../base/lmdbFile.ts';
import type { Finding } from '../../streams/doctor/finding.ts';

export async function checkReplies(folder: string): Promise<readonly Finding[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.mdb')).sort();
  return names.flatMap((where) => {
    const why = lmdbDamage(join(folder, where));
    if (why === null) return [];
    const what = `the replies of text models cannot be read: the file ${why}`;
    const advice =
      'restore the file from a backup, or delete it: what it held is then asked for again, and the answers may be others';
    return [{ rule: 'replies', where, what, advice }];
  });
}
