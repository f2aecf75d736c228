/**
 * `npm run conformance -- PATH...`: runs vector files (files or folders) and prints a row a subject.
 *
 * Exits with 1 when a case fails or a subject is unknown. Without a path it runs the vectors of this
 * repository.
 */
import { fileURLToPath } from 'node:url';
import { subjects } from './registry.ts';
import { runVectorFile, type SubjectReport } from './run.ts';
import { listVectorFiles, readVectorFile } from './vectors.ts';

const OWN_VECTORS = fileURLToPath(new URL('../vectors', import.meta.url));

function row(report: SubjectReport): string {
  const counts = [report.passed, report.failed, report.skipped]
    .map((count) => String(count).padStart(8))
    .join('');
  return `${report.subject.padEnd(32)}${counts}  ${report.worstError.toExponential(1)}`;
}

/** Holds the process open: the processes and threads of subjects do not. */
const open = setInterval(() => undefined, 60_000);

const paths = process.argv.slice(2);
const totals = { passed: 0, failed: 0, skipped: 0 };
console.log(`${'subject'.padEnd(32)}  passed  failed skipped  worst error`);
for (const path of await listVectorFiles(paths.length > 0 ? paths : [OWN_VECTORS])) {
  const report = await runVectorFile(await readVectorFile(path), subjects);
  console.log(row(report));
  for (const mismatch of report.mismatches) console.log(`    ${mismatch}`);
  totals.passed += report.passed;
  totals.failed += report.failed;
  totals.skipped += report.skipped;
}
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
clearInterval(open);
process.exitCode = totals.failed > 0 ? 1 : 0;
