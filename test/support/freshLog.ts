/** A log in a folder of its own for each test of the file: opened before it, closed and removed after it. */
import { afterEach, beforeEach } from '@jest/globals';
import { openLog } from '../../streams/embedded/openLog.ts';
import type { Log } from '../../streams/log.ts';
import { temporaryFolder } from './folder.ts';

/** `use` gets each test's log. */
export function freshLog(use: (log: Log) => void): void {
  let close = async (): Promise<void> => undefined;
  beforeEach(async () => {
    const folder = temporaryFolder();
    const log = await openLog({ folder: folder.path, mode: 'write' });
    close = async () => {
      await log.close();
      folder.remove();
    };
    use(log);
  });
  afterEach(() => close());
}
