/**
 * Many to one: deliveries with the same key wait in an open group until it is complete, then go on as one.
 *
 * Invariants: no more than `openMax` groups of a partition are open; all members of a group settle in one
 * commit; a group that was open when the process died is gathered from the start again, because none of its
 * members has settled.
 *
 * A reader stops at `inflightMax` unsettled records of a partition. When all of them wait in open groups,
 * nothing more can arrive; that is detected and fails with code `GATHER_STALLED` instead of hanging.
 */

import { concat, concatMap, defer, finalize, from, type OperatorFunction } from 'rxjs';
import { MillraceError } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import { deadLetters } from '../deadLetters.ts';
import type { Position } from '../position.ts';
import { deadLetterOf } from './deadLetter.ts';
import type { Delivery } from './delivery.ts';
import { gather, ownerOf, setState } from './settlement.ts';

/**
 * When a group is complete (`size` or `complete`) and how many may be open. With neither, groups close only
 * at the end of the input. Codes of the errors: `GATHER_FULL`, `GATHER_SHORT`, `GATHER_STALLED`.
 */
export interface GatherOptions<In> {
  readonly key: (value: In) => string;
  /** Members of a complete group: a number, one per group by its first member, or a test. */
  readonly size?: number | ((first: In) => number);
  readonly complete?: (members: readonly In[]) => boolean;
  /** Whether a record may open a group. One that may not, and finds none open, passes alone. */
  readonly opens?: (value: In) => boolean;
  /**
   * Limit of open groups whose first member is from the same partition; one more fails with code
   * `GATHER_FULL`.
   */
  readonly openMax: number;
  /** What happens to incomplete groups when the input has ended: dead letters, or emitted as they are. */
  readonly atEnd?: 'deadLetter' | 'emit';
}

type Group<In> = Delivery<In>[];

/** Emits the values of each complete group, in order of arrival. */
export function gatherBy<In>(
  options: GatherOptions<In>,
): OperatorFunction<Delivery<In>, Delivery<readonly In[]>> {
  return (source) =>
    defer(() => {
      const groups = new OpenGroups(options);
      return concat(
        source.pipe(concatMap((delivery) => groups.add(delivery))),
        defer(() => from(groups.end())),
      ).pipe(finalize(() => groups.release()));
    });
}

/** Every `count` deliveries become one, whatever their key. The last one may be smaller. */
export function gatherCount<In>(
  count: number,
  options: Pick<GatherOptions<In>, 'atEnd'> = {},
): OperatorFunction<Delivery<In>, Delivery<readonly In[]>> {
  return gatherBy({ key: () => '', size: count, openMax: 1, atEnd: options.atEnd ?? 'emit' });
}

class OpenGroups<In> {
  readonly #options: GatherOptions<In>;
  readonly #open = new Map<string, Group<In>>();

  constructor(options: GatherOptions<In>) {
    this.#options = options;
  }

  /** The group that this delivery completes, if any. */
  add(delivery: Delivery<In>): Delivery<readonly In[]>[] {
    const { key: keyOf, opens } = this.#options;
    const key = keyOf(delivery.value);
    const known = this.#open.get(key);
    if (known === undefined && opens?.(delivery.value) === false) return [close([delivery])];
    const group = known ?? this.#begin(key, delivery.position);
    group.push(delivery);
    if (this.#complete(group)) {
      this.#open.delete(key);
      return [close(group)];
    }
    setState(delivery, 'waiting');
    const { waiting, inflightMax } = ownerOf(delivery);
    const here = waiting.of(delivery.position.partition);
    if (here >= inflightMax) throw this.#stalled(here);
    return [];
  }

  /** Ends the input and empties the groups that are still open. */
  end(): Delivery<readonly In[]>[] {
    const left = [...this.#open];
    this.release();
    if (this.#options.atEnd === 'emit') return left.map(([, group]) => close(group));
    for (const [key, group] of left) {
      const error = new MillraceError(
        'GATHER_SHORT',
        `group ${key} had only ${counted(group.length, 'member')} when the input ended`,
      );
      for (const member of group) {
        member.also(deadLetters, deadLetterOf(member, error)).drop();
      }
    }
    return [];
  }

  release(): void {
    for (const group of this.#open.values()) for (const member of group) setState(member, 'free');
    this.#open.clear();
  }

  #begin(key: string, { partition }: Position): Group<In> {
    const { openMax } = this.#options;
    if (this.#open.size >= openMax && this.#openIn(partition) >= openMax) {
      throw new MillraceError(
        'GATHER_FULL',
        `${openMax} groups are open and ${key} would be one more; raise openMax, or find out why groups stay open`,
        { context: { openMax, key, oldest: [...this.#open.keys()][0] } },
      );
    }
    const group: Group<In> = [];
    this.#open.set(key, group);
    return group;
  }

  #openIn(partition: number): number {
    const groups = [...this.#open.values()];
    return groups.filter(([first]) => first?.position.partition === partition).length;
  }

  #complete(group: Group<In>): boolean {
    const { size, complete } = this.#options;
    if (complete?.(valuesOf(group))) return true;
    if (size === undefined) return false;
    return group.length >= (typeof size === 'number' ? size : size(group[0]!.value));
  }

  #stalled(waiting: number): MillraceError {
    return new MillraceError(
      'GATHER_STALLED',
      `all ${waiting} records that may be unsettled are waiting in ${counted(this.#open.size, 'open group')}; raise the stage's inflightMax`,
      { context: { waiting, open: this.#open.size, first: [...this.#open.keys()][0] } },
    );
  }
}

function close<In>(group: Group<In>): Delivery<readonly In[]> {
  return gather(group, valuesOf(group));
}

function valuesOf<In>(group: Group<In>): In[] {
  return group.map((member) => member.value);
}
