/** Unique names, made from this machine, this process and a counter. */
import { hostname } from 'node:os';

const own = `${hostname()}-${process.pid}-${Math.round(performance.timeOrigin)}`;
let count = 0;

/** A new name on every call. */
export function freshName(): string {
  count += 1;
  return `${own}-${count}`;
}
