/** Bounds on what the server keeps and sends: those that the browser knows too, and its own. */
import { limits as shared } from '../../wire/index.ts';

export const limits = {
  ...shared,
  /** Buckets of a series on the server, and the most that `n=` gives. */
  bucketsMax: 4096,
  bucketsDefault: 1600,
  /** Series kept for a run; the others are listed, and read from the log on demand. */
  seriesMax: 200,
  /** Rows in one answer about a topic. */
  rowsDefault: 100,
  rowsMax: 1000,
  /** Records that one request with `where=` or `key=` reads. */
  scanMax: 10_000,
  /** Bytes of a text: in a row, in a single record (`limit=1`) or a turn, and with `full=1`. */
  textInRow: 2_000,
  textInRecord: 65_536,
  textFull: 8_388_608,
  paretoMax: 4_000,
  flipsMax: 500,
} as const;
