/** What a check of a run has found: a sentence for people, and names for programs. */
export interface Finding {
  /** The rule that does not hold, e.g. `order-once`. */
  readonly rule: string;
  /** Topic or file that it is about. */
  readonly where: string;
  /** What is wrong, with its place. */
  readonly what: string;
  /** What to do. */
  readonly advice: string;
}
