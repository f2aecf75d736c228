/**
 * `millrace report`: before and after, as text or one JSON object on stdout, and in one file in the run
 * folder, which holds the live page too. Works on a live run; it shows what is complete so far.
 */

import { join } from 'node:path';
import { jsonText } from '../base/terminal/index.ts';
import { reportFile } from '../page/server/frozen/index.ts';
import type { Log } from '../streams/index.ts';
import { summarise } from '../summary/index.ts';
import { reportText } from '../summary/text/index.ts';
import { exitCodes } from './failure.ts';
import type { Io } from './io.ts';
import { asTyped, tell } from './programName.ts';
import { findRun, type Run, withLog } from './runs.ts';
import { version } from './version.ts';
import { withView } from './view/host.ts';
import { writePage } from './writePage.ts';

export interface ReportOptions {
  readonly run?: string;
  readonly runs: string;
  readonly json?: boolean;
  /** False: write nothing. */
  readonly page?: boolean;
}

export async function reportCommand(options: ReportOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  return withLog(run, (log) => reported(run, log, options, io));
}

async function reported(run: Run, log: Log, options: ReportOptions, io: Io): Promise<number> {
  const { name, record } = run;
  const summary = await summarise(log, name, record, io.clock);
  const { results } = summary;
  const columns = io.screen?.()?.columns;
  const look = columns === undefined ? {} : { columns };
  if (options.json === true) await io.out(`${jsonText(results)}\n`);
  else await tell(io, `${reportText(results, look)}\n`);
  if (options.page === false) return exitCodes.done;
  const warnings = results.warnings.map((text) => asTyped(text, io));
  const { page, note } = await reportFile(
    { ...summary, results: { ...results, warnings } },
    (use) => withView(run, log, io, use, { achieved: summary }),
    { version },
  );
  const isWritten = await writePage(join(run.folder, 'report.html'), page, io);
  if (isWritten && note !== '') io.err(note);
  return exitCodes.done;
}
