/**
 * Runs the cases of one vector file against its subject.
 */
import { type Comparison, compare } from './compare.ts';
import { Skipped, type Subjects } from './subject.ts';
import type { VectorCase, VectorFile } from './vectors.ts';

export interface SubjectReport {
  readonly subject: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly worstError: number;
  /** The first mismatches, one line each. */
  readonly mismatches: readonly string[];
}

const MISMATCHES_MAX = 3;

/** Runs every case. A subject that nobody registered fails all its cases. */
export async function runVectorFile(file: VectorFile, subjects: Subjects): Promise<SubjectReport> {
  const report = { passed: 0, failed: 0, skipped: 0, worstError: 0, mismatches: [] as string[] };
  const run = subjects[file.subject];
  if (run === undefined) {
    const mismatches = ['unknown subject: add it to a file of test/conformance/subjects/'];
    return { ...report, subject: file.subject, failed: file.cases.length, mismatches };
  }
  for (const vector of file.cases) {
    const verdict = await judge(vector, file, () => run(vector.args, file));
    if (verdict === 'skipped') report.skipped++;
    else {
      report.worstError = Math.max(report.worstError, verdict.worstError);
      if (verdict.difference === null) report.passed++;
      else if (++report.failed <= MISMATCHES_MAX) {
        report.mismatches.push(`${vector.id} ${verdict.difference}`);
      }
    }
  }
  return { ...report, subject: file.subject };
}

async function judge(
  vector: VectorCase,
  file: VectorFile,
  run: () => unknown,
): Promise<Comparison | 'skipped'> {
  let got: unknown;
  try {
    got = await run();
  } catch (error) {
    if (error instanceof Skipped) return 'skipped';
    got = { throws: true, ...(expectsThrow(vector.expect) ? {} : { message: String(error) }) };
  }
  const want = expectsThrow(vector.expect) ? { throws: true } : vector.expect;
  return compare(got, want, file.tolerance);
}

function expectsThrow(expect: unknown): boolean {
  return typeof expect === 'object' && expect !== null && 'throws' in expect;
}
