/**
 * `withPosition`: a record together with its position, so that what is derived from it can refer to it.
 */
import type { OperatorFunction } from 'rxjs';
import type { Delivery } from '../streams/deliveries/index.ts';
import { mapEach } from '../streams/index.ts';
import type { Position } from '../topics/index.ts';

export interface WithPosition<T> {
  readonly value: T;
  readonly position: Position;
}

export function withPosition<T>(): OperatorFunction<Delivery<T>, Delivery<WithPosition<T>>> {
  return mapEach((value, { position }) => ({ value, position }), { concurrency: 1 });
}
