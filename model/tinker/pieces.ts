/**
 * Cuts a batch into requests, in order, each within the service's limits; what belongs together (a pair)
 * stays together.
 */
import { MillraceError } from '../../base/index.ts';
import { datumBytes } from './encode.ts';
import { packedBytes } from './packed.ts';

/** Of one request. The hosted service takes 1,024 datums and 5 MB. */
export interface RequestLimits {
  readonly datums: number;
  readonly bytes: number;
}

export const requestLimits: RequestLimits = { datums: 1024, bytes: 5_000_000 };

/**
 * `lengths` = places of each row's datum; rows of length 0 are left out. `unit` rows in a row (2 for pairs)
 * share a request. Fails with code `TRAINER_LIMIT` if such a unit is too large for any.
 */
export function pieces(
  lengths: readonly number[],
  unit: number,
  limits: RequestLimits = requestLimits,
  packed = false,
): readonly (readonly number[])[] {
  const bytesOf = packed ? packedBytes : datumBytes;
  const cut: number[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (let first = 0; first < lengths.length; first += unit) {
    const rows = Array.from({ length: unit }, (_, i) => first + i).filter(
      (row) => (lengths[row] ?? 0) > 0,
    );
    if (rows.length === 0) continue;
    const own = rows.reduce((sum, row) => sum + bytesOf(lengths[row] as number), 0);
    if (own > limits.bytes || rows.length > limits.datums) {
      throw new MillraceError(
        'TRAINER_LIMIT',
        `sequence ${first} takes ${own} bytes of a request, but only ${limits.bytes} are allowed: make responses shorter`,
      );
    }
    const open = cut.at(-1);
    if (
      open === undefined ||
      bytes + own > limits.bytes ||
      open.length + rows.length > limits.datums
    ) {
      cut.push(rows);
      bytes = own;
    } else {
      open.push(...rows);
      bytes += own;
    }
  }
  return cut;
}
