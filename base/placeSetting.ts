/**
 * Settings that say where a server is, by what name it knows things, and how long it is waited for. What a
 * run computes is not to depend on them, so a run that goes on may have others: servers move.
 */
import type { z } from 'zod';

/** Marks such a setting. */
export function placeSetting<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ place: true }) as Schema;
}
