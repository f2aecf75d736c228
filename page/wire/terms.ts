/** What names mean, as docs/metrics.md says it: `/terms.json`. */
export interface Terms {
  /**
   * By kind and name: `metric reward/mean`, `part raw`, `verdict crowded`, `stage score`, `time paced`,
   * `selection front`.
   */
  readonly terms: Readonly<Record<string, Term>>;
}

export interface Term {
  readonly what: string;
  /** Of metrics; empty for others. */
  readonly unit: string;
  readonly healthy: string;
}

export type TermKind = 'metric' | 'part' | 'verdict' | 'stage' | 'time' | 'selection';
