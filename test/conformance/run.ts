/**
 * Runs the cases of one vector file against its subject.
 */
import { type Comparison, compare } from './compare.ts';
import {
  type CaseContext,
  type Driven,
  Part,
  Skipped,
  type Subject,
  type Subjects,
} from './subject.ts';
import type { VectorCase, VectorFile } from './vectors.ts';

export interface SubjectReport {
  readonly subject: string;
  /** Cases that passed, by what computed them. */
  readonly passed: Readonly<Record<Driven, number>>;
  /** What the product lacks or does otherwise, each once. */
  readonly notes: readonly string[];
  readonly failed: number;
  readonly skipped: number;
  readonly worstError: number;
  /** The first mismatches, one line each. */
  readonly mismatches: readonly string[];
}

const MISMATCHES_MAX = 3;

/** Runs every case. A subject that is not registered fails all its cases. */
export async function runVectorFile(file: VectorFile, subjects: Subjects): Promise<SubjectReport> {
  const passed = { product: 0, oracle: 0, detour: 0 };
  const mismatches: string[] = [];
  const notes = new Set<string>();
  const report = { passed, failed: 0, skipped: 0, worstError: 0, mismatches };
  const named = { subject: file.subject };
  const run = subjects[file.subject];
  if (run === undefined) {
    mismatches.push('unknown subject: add it to a file of test/conformance/subjects/');
    return { ...report, ...named, notes: [], failed: file.cases.length };
  }
  try {
    for (const vector of file.cases) {
      let driven: Driven = 'product';
      const by: CaseContext['by'] = (what, why) => {
        driven = what;
        notes.add(`${what}: ${why}`);
      };
      const verdict = await judge(vector, { file, expect: vector.expect, by }, run);
      if (verdict === 'skipped') report.skipped++;
      else {
        report.worstError = Math.max(report.worstError, verdict.worstError);
        if (verdict.difference === null) passed[driven]++;
        else if (++report.failed <= MISMATCHES_MAX) {
          mismatches.push(`${vector.id} ${verdict.difference}`);
        }
      }
    }
  } finally {
    await run.close?.();
  }
  return { ...report, ...named, notes: [...notes] };
}

async function judge(
  { args, expect }: VectorCase,
  context: CaseContext,
  run: Subject,
): Promise<Comparison | 'skipped'> {
  const throws = typeof expect === 'object' && expect !== null && 'throws' in expect;
  let got: unknown;
  try {
    got = await run(args, context);
  } catch (error) {
    if (error instanceof Skipped) return 'skipped';
    if (!throws) return { difference: `threw ${String(error)}`, worstError: 0 };
    got = { throws: true };
  }
  if (got instanceof Part)
    return compare(got.value, pick(expect, got.value), context.file.tolerance);
  return compare(got, throws ? { throws: true } : expect, context.file.tolerance);
}

function pick(expect: unknown, keys: object): Readonly<Record<string, unknown>> {
  const all = expect as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.keys(keys).map((key) => [key, all[key]]));
}
