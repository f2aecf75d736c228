import { describe, expect, it } from '@jest/globals';
import { MillraceError } from '../../../base/errors.ts';
import { startOf, type Tappable } from '../../../streams/embedded/tapTopic.ts';

/** Records at these times; null = damaged. */
function logOf(times: readonly (number | null)[]): Tappable<unknown> {
  const damaged = (): never => {
    throw new MillraceError('DAMAGED', 'a byte was changed');
  };
  return {
    end: () => times.length,
    at: damaged,
    timeAt: (offset) => times[offset] ?? damaged(),
    encodedAt: damaged,
    onMore: () => () => undefined,
  };
}

describe('a tap from a time', () => {
  it('begins right next to damaged records, without older ones', () => {
    const times = [10, 10, 20, 30, 30, 40, 50];
    for (let damage = 0; damage < 2 ** times.length; damage++) {
      const left = times.map((atMs, offset) => ((damage >> offset) & 1 ? null : atMs));
      for (let atMs = 5; atMs <= 55; atMs += 5) {
        const start = startOf({ kind: 'time', atMs }, logOf(left));
        const wanted = left.filter((time) => time !== null && time >= atMs);
        expect(left.slice(start).filter((time) => time !== null)).toEqual(wanted);
      }
    }
  });
});
