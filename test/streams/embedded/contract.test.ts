import { openLog } from '../../../streams/embedded/openLog.ts';
import type { ManualClock } from '../../../testing/manualClock.ts';
import { allTopics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { keepsLogContract, type LogUnderTest } from '../../support/logContract.ts';
import { keepsRetentionContract } from '../../support/retentionContract.ts';

async function openFresh(clock: ManualClock): Promise<LogUnderTest> {
  const folder = temporaryFolder();
  const open = () => openLog({ folder: folder.path, mode: 'write', clock, topics: allTopics });
  let log = await open();
  return {
    log,
    async reopen() {
      await log.close();
      log = await open();
      return log;
    },
    async remove() {
      await log.close();
      folder.remove();
    },
  };
}

keepsLogContract('the embedded log', openFresh);
keepsRetentionContract('the embedded log', openFresh);
