/**
 * Records of a run that a page could not read: their places, so that the overview can report them.
 */
import { counted, thousands } from '../../../base/text/index.ts';
import type { Log, TapOptions, Topic } from '../../../streams/index.ts';

const KEPT_MAX = 1_000;
const NAMED = 3;

export class Damage {
  readonly #places = new Set<string>();

  /** The log, whose taps note what they cannot read. */
  noted(log: Log): Log {
    const tap = <T>(topic: Topic<T>, options: TapOptions): ReturnType<typeof log.tap<T>> =>
      log.tap(topic, {
        ...options,
        ...(options.unreadable && {
          unreadable: (position, error, encoded) => {
            this.note(topic.name, position.offset);
            options.unreadable!(position, error, encoded);
          },
        }),
      });
    return new Proxy(log, {
      get(target, key) {
        if (key === 'tap') return tap;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  note(topic: string, offset: number): void {
    if (this.#places.size < KEPT_MAX) this.#places.add(`${topic} ${offset}`);
  }

  /** Empty if there was no damage. */
  text(doctor: string): string {
    const places = [...this.#places];
    if (places.length === 0) return '';
    const named = places.slice(0, NAMED).join(', ');
    const more = places.length > NAMED ? ', …' : '';
    const number = `${thousands(places.length)}${places.length >= KEPT_MAX ? ' or more' : ''}`;
    return `${counted(places.length, 'record', number)} of this run cannot be read (${named}${more}). To inspect what survives, run \`${doctor}\`.`;
  }
}
