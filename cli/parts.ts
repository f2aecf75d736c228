/** Reports the progress of long work on stderr, once per tenth; short work reports nothing. */
import { thousands } from '../base/text/index.ts';
import type { Io } from './io.ts';

const PARTS = 10;
const SPOKEN_OF_MIN = 50_000;

/** `what` precedes the numbers. */
export function tenths(what: string, io: Io): (done: number, all: number) => void {
  let announced = 0;
  return (done, all) => {
    const part = Math.floor((PARTS * done) / Math.max(1, all));
    if (part <= announced || all < SPOKEN_OF_MIN) return;
    announced = part;
    io.err(`${what}: ${thousands(done)} of ${thousands(all)} records`);
  };
}
