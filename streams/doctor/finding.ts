/** What a check of a run has found: a sentence for people, and names for programs. */
export interface Finding {
  /** The rule that does not hold, e.g. `order-once`. */
  readonly rule: string;
  /** The topic or file concerned. */
  readonly where: string;
  /** What is wrong, and where. */
  readonly what: string;
  /** What to do about it. */
  readonly advice: string;
}
