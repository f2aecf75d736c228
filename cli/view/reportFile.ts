/**
 * The file of a report: the run's live page as it is now with the static report in it. Where there can be no such page, the
 * static report alone, and why: no report is lost because its page cannot be made.
 */
import { MillraceError } from '../../base/errors.ts';
import { freeze } from '../../page/server/frozen/freeze.ts';
import { FILE_MAX, frozenPage } from '../../page/server/frozen/frozenPage.ts';
import { type Assets, loadAssets } from '../../page/server/http/assets.ts';
import { RunView } from '../../page/server/run/runView.ts';
import type { Frozen } from '../../page/wire/wire.ts';
import { type Page, pageOf } from '../../summary/html/page.ts';
import { reportOf } from '../../summary/html/reportPage.ts';
import { size } from '../../summary/numbers.ts';
import type { Summary } from '../../summary/summary.ts';
import type { Io } from '../io.ts';
import { type Run, withLog } from '../runs.ts';
import { version } from '../version.ts';
import { viewedOf } from './openView.ts';

const TRAJECTORIES_MAX = 200;
/** For the page itself. */
const REST = 1_000_000;

export interface ReportFile {
  readonly page: string;
  /** What is not in it, in a sentence; empty for nothing. */
  readonly note: string;
}

export interface ReportFileOptions {
  readonly assets?: Assets;
  readonly bytesMax?: number;
}

export async function reportFile(
  run: Run,
  summary: Summary,
  io: Io,
  { assets = loadAssets(), bytesMax = FILE_MAX }: ReportFileOptions = {},
): Promise<ReportFile> {
  const report = reportOf(summary);
  const alone = (why: string): ReportFile => ({
    page: pageOf(report),
    note: `It is the report alone, without the live page: ${why}`,
  });
  const unbuilt = 'that was not built (`npm run build`).';
  if (assets.index === null) return alone(unbuilt);
  const tooLarge = `with it the file would be larger than ${size(bytesMax)}.`;
  try {
    const frozen = await frozenOf(run, io, bytesMax - REST - bytesOf(report));
    if (frozen === null) return alone(tooLarge);
    const page = frozenPage(assets, frozen, report);
    if (page === null) return alone(unbuilt);
    if (Buffer.byteLength(page) > bytesMax) return alone(tooLarge);
    return { page, note: frozen.leftOut };
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return alone(error.message);
  }
}

async function frozenOf(run: Run, io: Io, bytesMax: number): Promise<Frozen | null> {
  return withLog(run, async (log) => {
    const view = new RunView(viewedOf(run, log, io));
    try {
      await view.ready();
      return await freeze(view, {
        trajectoriesMax: TRAJECTORIES_MAX,
        bytesMax,
        millrace: version,
      });
    } finally {
      view.stop();
    }
  });
}

function bytesOf({ body }: Page): number {
  return Buffer.byteLength(body.markup);
}
