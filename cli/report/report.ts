/**
 * `millrace report`: before and after, as text or one JSON object on stdout, and as a page in the run
 * folder. Works on a live run too; it shows what is complete so far.
 */
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exitCodes } from '../failure.ts';
import type { Io } from '../io.ts';
import { findRun, withLog } from '../runs.ts';
import { collect, fetchSamples } from './collect.ts';
import { reportPage } from './page.ts';
import { chooseSamples } from './samples.ts';
import { summarise } from './summary.ts';
import { reportText } from './text.ts';

export interface ReportOptions {
  readonly run?: string;
  readonly runs: string;
  readonly json?: boolean;
}

export async function reportCommand(options: ReportOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  const { input, samples } = await withLog(run, async (log) => {
    const input = await collect(log, run);
    return { input, samples: await fetchSamples(log, chooseSamples(input)) };
  });
  const report = summarise(input);
  const path = join(run.folder, 'report.html');
  await writeFile(`${path}.new`, reportPage({ report, input, samples }));
  await rename(`${path}.new`, path);
  await io.out(`${options.json === true ? JSON.stringify(report) : reportText(report)}\n`);
  io.err(`page: ${path}`);
  return exitCodes.done;
}
