/**
 * Settings that say where a server is, what names it uses, and how long to wait for it. A run's results must
 * not depend on them, so a resumed run may have others: servers move.
 */
import type { z } from 'zod';

/** Marks such a setting. */
export function placeSetting<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ place: true }) as Schema;
}
