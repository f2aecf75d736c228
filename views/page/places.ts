/** Roughly where in `metrics` the steps of a run lie: every so many records their step is kept. In bounded room; of one partition. */
const PLACES_MAX = 4_096;
/** Steps do not come in perfect order (evaluations are late): so many places more on either side. */
const SLACK = 2;

export class Places {
  #places: { readonly offset: number; readonly step: number }[] = [];
  #every = 1;
  #seen = 0;

  seen(offset: number, step: number): void {
    if (this.#seen++ % this.#every !== 0) return;
    this.#places.push({ offset, step });
    if (this.#places.length <= PLACES_MAX) return;
    this.#places = this.#places.filter((_, i) => i % 2 === 0);
    this.#every *= 2;
  }

  /** Offsets between which the records of these steps lie. */
  around(fromStep: number, toStep: number): { readonly from: number; readonly to: number | null } {
    const first = this.#places.findIndex(({ step }) => step >= fromStep);
    const last = this.#places.findLastIndex(({ step }) => step <= toStep);
    const from = this.#places[Math.max(0, (first < 0 ? this.#places.length : first) - 1 - SLACK)];
    return { from: from?.offset ?? 0, to: this.#places[last + 1 + SLACK]?.offset ?? null };
  }
}
