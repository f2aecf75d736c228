/**
 * A grader decides whether an answer is right, from a model's reply or by a rule.
 *
 * A judge's reply is text from outside and may repeat what it grades. It is read in bounded time, and a reply
 * that gives both verdicts gives none. An unreadable reply gives null: the answer counts as wrong, and the
 * reply is counted.
 */
import type { Reward } from '../../../topics/index.ts';

/** What to grade. */
export interface GradedAnswer {
  readonly question: string;
  /** Any of them is right; at least one. */
  readonly references: readonly string[];
  /** The answer found in the response. */
  readonly prediction: string;
  /** The end of what the policy wrote. */
  readonly response: string;
}

/** Whether an answer is right, and what else the grader says. */
export interface Verdict {
  readonly right: boolean;
  readonly parts?: Reward['parts'];
}

/** A grader that asks a model. */
export interface AskingGrader {
  readonly name: string;
  /** For people: `graded by the judge, WAY`. */
  readonly way: string;
  /**
   * What counts as right without asking: LaTeX equality with a reference, the very text of one, or nothing
   * (null).
   */
  readonly first: 'equality' | 'same text' | null;
  prompt(given: GradedAnswer): string;
  /** Null = the reply gives no verdict. */
  read(reply: string): Verdict | null;
}

/** A grader that needs no model. */
export interface RuleGrader {
  readonly name: string;
  readonly way: string;
  decide(given: Pick<GradedAnswer, 'references' | 'prediction'>): Verdict;
}

/** One or the other. */
export type Grader = AskingGrader | RuleGrader;

/** Longest reply to read, in UTF-16 units; a verdict is a few lines. */
const REPLY_MAX = 100_000;

/** The judge's reply without its thinking; null if nothing is left. */
export function spokenIn(reply: string): string | null {
  if (reply.length > REPLY_MAX) return null;
  const thought = reply.lastIndexOf('</think>');
  const spoken = thought < 0 ? reply : reply.slice(thought + '</think>'.length);
  return spoken.trim() === '' ? null : spoken;
}

/**
 * The one value that all matches have in group 1, in lower case; null if there is none, or if they differ.
 * `pattern` is global.
 */
export function unanimous(text: string, pattern: RegExp): string | null {
  const values = new Set([...text.matchAll(pattern)].map((match) => match[1]!.toLowerCase()));
  const [value = null] = values;
  return values.size === 1 ? value : null;
}

/** The references, for a prompt that has room for one. */
export function oneReference(references: readonly string[], or: string): string {
  return references.join(` ${or} `);
}
