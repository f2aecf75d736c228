/**
 * `npm run conformance -- PATH...`: runs vector files (files or folders) and prints a row a subject: the
 * cases that the product passed, and apart from them those that an oracle of the tests or a published loop
 * written out computed, with what the product lacks.
 *
 * Exits with 1 when a case fails or a subject is unknown. Without a path it runs the vectors of this
 * repository.
 */
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { subjects } from './registry.ts';
import { runVectorFile, type SubjectReport } from './run.ts';
import { listVectorFiles, readVectorFile } from './vectors.ts';

const OWN_VECTORS = fileURLToPath(new URL('../vectors', import.meta.url));

function row(report: SubjectReport): string {
  const { product, oracle, detour } = report.passed;
  const counts = [product, oracle, detour, report.failed, report.skipped]
    .map((count) => String(count).padStart(8))
    .join('');
  return `${report.subject.padEnd(32)}${counts}  ${report.worstError.toExponential(1)}`;
}

const { args: paths } = new Command('npm run conformance')
  .usage('[-- PATH…]')
  .description(
    'Runs vector files, a row a subject; exits with 1 when a case fails or a subject is unknown. Cases count as passed by the product, by an oracle of the tests (the product has no such thing), or by a detour (a published loop written out, where the product departs from it on purpose).',
  )
  .argument('[path...]', "files or folders; without one, this repository's own vectors")
  .showHelpAfterError()
  .parse();

/** Holds the process open: the processes and threads of subjects do not. */
const open = setInterval(() => undefined, 60_000);

async function runAll(): Promise<number> {
  const totals = { product: 0, oracle: 0, detour: 0, failed: 0, skipped: 0 };
  const files = await listVectorFiles(paths.length > 0 ? paths : [OWN_VECTORS]);
  console.log(`${'subject'.padEnd(32)} product  oracle  detour  failed skipped  worst error`);
  for (const path of files) {
    const report = await runVectorFile(await readVectorFile(path), subjects);
    console.log(row(report));
    for (const note of report.notes) console.log(`    ${note}`);
    for (const mismatch of report.mismatches) console.log(`    ${mismatch}`);
    totals.product += report.passed.product;
    totals.oracle += report.passed.oracle;
    totals.detour += report.passed.detour;
    totals.failed += report.failed;
    totals.skipped += report.skipped;
  }
  console.log(
    `${totals.product} passed by the product, ${totals.oracle} by oracles of the tests, ${totals.detour} by loops written out; ` +
      `${totals.failed} failed, ${totals.skipped} skipped`,
  );
  return totals.failed;
}

try {
  process.exitCode = (await runAll()) > 0 ? 1 : 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  clearInterval(open);
}
