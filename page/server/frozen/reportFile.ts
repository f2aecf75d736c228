/**
 * The file of a report: the run's live page as it is now, with the static report in it. If the page cannot be
 * made, the file is the static report alone and says why: no report is lost for lack of a page.
 */
import { MillraceError } from '../../../base/index.ts';
import { size } from '../../../summary/format/index.ts';
import { pageOf, reportOf } from '../../../summary/html/index.ts';
import type { Summary } from '../../../summary/index.ts';
import { type Assets, loadAssets } from '../http/assets.ts';
import type { RunView } from '../run/runView.ts';
import { freeze } from './freeze.ts';
import { FILE_MAX, frozenPage } from './frozenPage.ts';

const TRAJECTORIES_MAX = 200;
/** Bytes for the page itself. */
const REST = 1_000_000;

export interface ReportFile {
  readonly page: string;
  /** What the file leaves out, in a sentence; empty = nothing. */
  readonly note: string;
}

export interface ReportFileOptions {
  /** The version of millrace. */
  readonly version: string;
  readonly assets?: Assets;
  readonly bytesMax?: number;
}

/** Keeps the run open while `use` works. */
type WithView = <T>(use: (view: RunView) => Promise<T>) => Promise<T>;

export async function reportFile(
  summary: Summary,
  withView: WithView,
  { version, assets = loadAssets(), bytesMax = FILE_MAX }: ReportFileOptions,
): Promise<ReportFile> {
  const report = reportOf(summary);
  const alone = (why: string): ReportFile => ({
    page: pageOf(report),
    note: `The file has only the report, without the live page: ${why}`,
  });
  const unbuilt = 'the page has not been built (`npm run build`).';
  if (assets.index === null) return alone(unbuilt);
  const tooLarge = `with the page it would be larger than ${size(bytesMax)}.`;
  try {
    const frozen = await withView((view) =>
      freeze(view, {
        trajectoriesMax: TRAJECTORIES_MAX,
        bytesMax: bytesMax - REST - Buffer.byteLength(report.body.markup),
        millrace: version,
      }),
    );
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
