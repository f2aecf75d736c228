/**
 * What a process may hold, whatever goes wrong. Looked at whenever its stages tell of themselves:
 *
 * - a stage has no more in flight than its `inflightMax`: whatever waits at the gate, for a call or for a
 *   commit is in flight too; and no more is in open groups;
 * - no more listen for the end of the run than records are in flight: whoever waits at the gate or for a
 *   place listens, and stops when it is let in;
 * - what is settled is let go of: of a reader's settled records few can still be reached. That takes a
 *   collection, so it is looked at in some histories.
 *
 * And when it has ended in order: nobody listens, no timer runs, nothing is read.
 */
import { getEventListeners } from 'node:events';
import type { Delivery } from '../../streams/deliveries/index.ts';
import { Progress } from '../../streams/index.ts';
import type { MemoryStore } from '../../streams/memory/index.ts';
import { collectGarbage, type FlowStats } from '../../streams/run/index.ts';
import type { Life } from './life.ts';

export interface BoundsOptions {
  readonly life: Life;
  readonly store: MemoryStore;
  /** Whether to check what is still reachable. */
  readonly weighs: boolean;
  /** Called with violations. */
  readonly broken: (what: string) => void;
}

/** A reader's records, by offset. */
interface Handed {
  readonly topic: string;
  readonly group: string;
  readonly values: Map<number, WeakRef<object>>;
}

/** The run itself, its sources, the engine and the tools. */
const LISTENERS_SPARE = 16;
/** The last one handed out, and those that a variable still references. */
const REACHED_MAX = 8;
/** Settled records before a collection is worthwhile. */
const SETTLED_MIN = 24;

export class Bounds {
  readonly #options: BoundsOptions;
  readonly #handed = new Map<string, Handed>();
  #stopping: AbortSignal | null = null;

  constructor(options: BoundsOptions) {
    this.#options = options;
  }

  /** The signal that ends the run. */
  stopsBy(stopping: AbortSignal): void {
    this.#stopping = stopping;
  }

  /** A reader has handed out a record. */
  handed(topic: string, group: string, { position, value }: Delivery<unknown>): void {
    if (!this.#options.weighs || typeof value !== 'object' || value === null) return;
    const key = JSON.stringify([topic, group]);
    const reader = this.#handed.get(key) ?? { topic, group, values: new Map() };
    this.#handed.set(key, reader);
    reader.values.set(position.offset, new WeakRef(value));
  }

  told({ stages }: FlowStats): void {
    for (const { name, inflight, inflightMax, waiting } of stages) {
      if (inflight > inflightMax) {
        this.#broken(`${name} has ${inflight} records in flight, and may have ${inflightMax}`);
      }
      if (waiting > inflight) {
        this.#broken(`${waiting} records of ${name} wait in groups, and ${inflight} are in flight`);
      }
    }
    const inflight = stages.reduce((sum, stage) => sum + stage.inflight, 0);
    const listeners = this.#listeners();
    if (listeners > inflight + LISTENERS_SPARE) {
      this.#broken(
        `${listeners} listen for the end of the run, and ${inflight} records are in flight`,
      );
    }
    this.#weigh();
  }

  ended(): void {
    const { open } = this.#options.life;
    if (open > 0) this.#broken(`${open} timers or readers are left at its end`);
    const listeners = this.#listeners();
    if (listeners > 0) this.#broken(`${listeners} still listen for the end of the run at its end`);
  }

  #listeners(): number {
    return this.#stopping === null ? 0 : getEventListeners(this.#stopping, 'abort').length;
  }

  #weigh(): void {
    const { store } = this.#options;
    const settled = [...this.#handed.values()].flatMap(({ topic, group, values }) => {
      const progress = new Progress(store.progress(topic, group));
      return [
        { topic, group, values, offsets: [...values.keys()].filter((at) => progress.has(at)) },
      ];
    });
    if (settled.reduce((sum, { offsets }) => sum + offsets.length, 0) < SETTLED_MIN) return;
    collectGarbage();
    for (const { topic, group, values, offsets } of settled) {
      for (const offset of offsets) {
        if (values.get(offset)!.deref() === undefined) values.delete(offset);
      }
      const reached = offsets.filter((offset) => values.has(offset)).length;
      if (reached <= REACHED_MAX) continue;
      this.#broken(`${group} holds ${reached} records of ${topic} that it has settled`);
    }
  }

  #broken(what: string): void {
    this.#options.broken(`${this.#options.life.name}: ${what}`);
  }
}
