import { openLog } from '../../../streams/embedded/openLog.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { keepsLogContract } from '../../support/logContract.ts';

keepsLogContract('the embedded log', async (clock) => {
  const folder = temporaryFolder();
  const open = () => openLog({ folder: folder.path, mode: 'write', clock });
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
});
