/**
 * `millrace report`: before and after, as text or one JSON object on stdout, and as a page in the run
 * folder, with the live page frozen into a file beside it. Works on a live run too; it shows what is complete so far.
 */

import { join } from 'node:path';
import { reportPage } from '../views/html/reportPage.ts';
import { summarise } from '../views/summary/summary.ts';
import { jsonText } from '../views/text/plain.ts';
import { reportText } from '../views/text/reportText.ts';
import { exitCodes } from './failure.ts';
import type { Io } from './io.ts';
import { tell } from './programName.ts';
import { findRun, withLog } from './runs.ts';
import { writeFrozen } from './view/writeFrozen.ts';
import { writePage } from './writePage.ts';

export interface ReportOptions {
  readonly run?: string;
  readonly runs: string;
  readonly json?: boolean;
  /** False: nothing is written. */
  readonly page?: boolean;
}

export async function reportCommand(options: ReportOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  const { name, record } = run;
  const summary = await withLog(run, (log) => summarise(log, name, record, io.clock));
  const path = join(run.folder, 'report.html');
  const { results } = summary;
  const columns = io.screen?.()?.columns;
  const look = columns === undefined ? {} : { columns };
  if (options.json === true) await io.out(`${jsonText(results)}\n`);
  else await tell(io, `${reportText(results, look)}\n`);
  if (options.page === false) return exitCodes.done;
  await writePage(path, reportPage(summary), io);
  await writeFrozen(run, io);
  return exitCodes.done;
}
