/** What names mean, from docs/metrics.md: `/terms.json`. */
export interface Terms {
  /**
   * By kind and name: `metric reward/mean`, `part raw`, `verdict crowded`, `stage score`, `time paced`,
   * `selection front`.
   */
  readonly terms: Readonly<Record<string, Term>>;
}

export interface Term {
  readonly what: string;
  /** For metrics; empty for others. */
  readonly unit: string;
  readonly healthy: string;
}

export type TermKind = 'metric' | 'part' | 'verdict' | 'stage' | 'time' | 'selection';
