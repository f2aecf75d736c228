/** Where a record is in its topic. */
import { record, type ValueOf, whole } from './contracts/shapes.ts';

export const position = record('Position', {
  partition: whole,
  offset: whole,
});
/** Where a record is in its topic. The embedded log has the one partition 0. */
export interface Position extends ValueOf<typeof position> {}
