/** Where a run fails on a version, the way back leads to another one. */
import { expect, test } from '@jest/globals';
import { MillraceError } from '../../../base/errors.ts';
import { rewindCommandFor } from '../../../cli/rewind/rewindCommand.ts';
import { logFolder, type Run } from '../../../cli/runs.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { topics } from '../../../topics/index.ts';
import { freshFolders } from '../../support/folder.ts';
import { weights as manifest } from '../../support/weights.ts';

const fresh = freshFolders();

test('the way back from a state that a training service has lost leads to the version before it', async () => {
  const folder = fresh();
  const log = await openLog({ folder: logFolder(folder), mode: 'write' });
  await log.commit((tx) => {
    for (const version of [0, 1, 2]) {
      const uri = `tinker://m/v${version}`;
      tx.append(topics.weights, { ...manifest(version, 0), uri, state: version > 0 ? uri : '' });
    }
  });
  const run = { name: 'served', folder } as Run;
  const lost = new MillraceError('CHECKPOINT', 'is not there', { context: { version: 2 } });
  const failed = new MillraceError('STAGE', 'stage trainer failed', { cause: lost });
  try {
    expect(await rewindCommandFor(run, log, failed)).toMatch(
      /^rewind served --to step=1 --into served-step-1$/,
    );
    expect(await rewindCommandFor(run, log, new Error('another'))).toBeNull();
  } finally {
    await log.close();
  }
});
