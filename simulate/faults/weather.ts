/** Which faults are active at a moment. */
import type { Fault } from './fault.ts';

export type ShareKind = 'lost' | 'late' | 'hang' | 'overdue' | 'again';

export class Weather {
  readonly #faults: readonly Fault[];
  readonly #elapsedMs: () => number;

  constructor(faults: readonly Fault[], elapsedMs: () => number) {
    this.#faults = faults;
    this.#elapsedMs = elapsedMs;
  }

  /** From then on nothing goes wrong. */
  get calmMs(): number {
    return Math.max(0, ...this.#faults.map(endOf));
  }

  /** The active ones of a kind. */
  now<K extends Fault['kind']>(kind: K): readonly Extract<Fault, { readonly kind: K }>[] {
    const nowMs = this.#elapsedMs();
    return this.#faults.filter(
      (fault): fault is Extract<Fault, { readonly kind: K }> =>
        fault.kind === kind &&
        'forMs' in fault &&
        fault.fromMs <= nowMs &&
        nowMs < fault.fromMs + fault.forMs,
    );
  }

  is(kind: Fault['kind']): boolean {
    return this.now(kind).length > 0;
  }

  /** The largest share of what is concerned. */
  share(kind: ShareKind): number {
    return Math.max(0, ...this.now(kind).map(({ share }) => share));
  }
}

function endOf(fault: Fault): number {
  if (fault.kind === 'crash') return 0;
  return fault.fromMs + ('forMs' in fault ? fault.forMs : 0);
}
