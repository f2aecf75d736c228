/**
 * Runs the cases of one vector file against its subject.
 */
import { type Comparison, compare } from './compare.ts';
import { Part, Skipped, type Subject, type Subjects } from './subject.ts';
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
  try {
    for (const vector of file.cases) {
      const verdict = await judge(vector, file, run);
      if (verdict === 'skipped') report.skipped++;
      else {
        report.worstError = Math.max(report.worstError, verdict.worstError);
        if (verdict.difference === null) report.passed++;
        else if (++report.failed <= MISMATCHES_MAX) {
          report.mismatches.push(`${vector.id} ${verdict.difference}`);
        }
      }
    }
  } finally {
    await run.close?.();
  }
  return { ...report, subject: file.subject };
}

async function judge(
  { id: _, args, expect }: VectorCase,
  file: VectorFile,
  run: Subject,
): Promise<Comparison | 'skipped'> {
  const throws = typeof expect === 'object' && expect !== null && 'throws' in expect;
  let got: unknown;
  try {
    got = await run(args, { file, expect });
  } catch (error) {
    if (error instanceof Skipped) return 'skipped';
    if (!throws) return { difference: `threw ${String(error)}`, worstError: 0 };
    got = { throws: true };
  }
  if (got instanceof Part) return compare(got.value, pick(expect, got.value), file.tolerance);
  return compare(got, throws ? { throws: true } : expect, file.tolerance);
}

function pick(expect: unknown, keys: object): Readonly<Record<string, unknown>> {
  const all = expect as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.keys(keys).map((key) => [key, all[key]]));
}
