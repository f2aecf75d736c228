/**
 * Entry of a worker that takes turns with others: each turn adds one to a number, in two parts with a wait
 * between.
 */

import { serve } from '../../../base/worker.ts';
import { Turns } from '../../../model/runtime/turns.ts';

interface Count {
  readonly shared: SharedArrayBuffer;
  readonly number: SharedArrayBuffer;
  readonly times: number;
}

serve({
  async count({ shared, number, times }: Count) {
    const turns = new Turns(shared);
    const place = new Int32Array(number);
    const once = () =>
      turns.take(async () => {
        const before = place[0] as number;
        await new Promise(setImmediate);
        place[0] = before + 1;
      });
    await Promise.all(Array.from({ length: times }, once));
  },
});
