/** Writes `page.html` beside a run's report: its live page as it is now, in one file. */
import { join } from 'node:path';
import { freeze } from '../../views/page/freeze.ts';
import { RunView } from '../../views/page/runView.ts';
import type { Io } from '../io.ts';
import { type Run, withLog } from '../runs.ts';
import { version } from '../version.ts';
import { writePage } from '../writePage.ts';
import { loadAssets } from './assets.ts';
import { FILE_MAX, frozenPage } from './frozenPage.ts';
import { viewedOf } from './openView.ts';

const TRAJECTORIES_MAX = 200;
/** For the page itself. */
const REST = 1_000_000;

export async function writeFrozen(run: Run, io: Io): Promise<void> {
  const assets = loadAssets();
  if (assets.index === null) return;
  const frozen = await withLog(run, async (log) => {
    const view = new RunView(viewedOf(run, log, io));
    try {
      await view.ready();
      return await freeze(view, {
        trajectoriesMax: TRAJECTORIES_MAX,
        bytesMax: FILE_MAX - REST,
        millrace: version,
      });
    } finally {
      view.stop();
    }
  });
  const page = frozenPage(assets, frozen);
  if (page === null) return;
  await writePage(join(run.folder, 'page.html'), page, io);
  if (frozen.leftOut !== '') io.err(frozen.leftOut);
}
