/** The shape of a `run.json`. Apart from its reader: zod takes as long to load as a bare node to start. */
import { z } from 'zod';
import { runStatuses } from '../summary/facts/index.ts';

const record = z.object({
  /** Version of millrace that started it. */
  millrace: z.string(),
  /** `file`: as it was given: the path of a job file, or the name of a ready job. */
  job: z.object({ name: z.string(), file: z.string() }),
  seed: z.number(),
  /** Complete settings, defaults filled in. */
  settings: z.record(z.string(), z.unknown()),
  /**
   * Those that are not the job's defaults, by dotted key: where each was given, and the default. For people.
   */
  changed: z
    .record(z.string(), z.object({ from: z.string(), default: z.unknown().optional() }))
    .optional(),
  /**
   * The preset and the settings file that it was started with, for people: what they say is in `settings`.
   */
  preset: z.string().optional(),
  settingsFile: z.string().optional(),
  status: z.enum(runStatuses),
  /** Every start and resumption; `endedMs` is null while it runs, and forever after a kill. */
  starts: z.array(z.object({ startedMs: z.number(), endedMs: z.number().nullable() })).min(1),
  /** Why it failed; empty otherwise. */
  reason: z.string(),
  /** Where it was forked off, if it was. */
  forked: z.object({ run: z.string(), step: z.number() }).optional(),
  /** The run that it was made over from, and the first topic that is its own. */
  replayed: z.object({ run: z.string(), from: z.string() }).optional(),
  /**
   * Settings that were changed while it went on (`millrace set`): the first step that each holds for, null
   * while that is to come.
   */
  changes: z
    .array(
      z.object({
        setting: z.string(),
        value: z.unknown(),
        by: z.string(),
        askedMs: z.number(),
        step: z.number().nullable(),
      }),
    )
    .optional(),
  /** How much of its large topics stays in the log, and where the rest goes (`--keep-log`). */
  retention: z
    .object({
      bytesMax: z.number().optional(),
      ageMaxMs: z.number().optional(),
      archive: z.string().optional(),
    })
    .optional(),
  /** Where its records are if not in its folder: a Kafka URL without passwords. */
  log: z.string().optional(),
  /** The id of the Kafka cluster that they are on, if it has one. */
  cluster: z.string().optional(),
});

const schema = record.extend({ digest: z.string().optional() });

export type RunRecord = Readonly<z.infer<typeof record>>;

/** Fails with the first field that is wrong. */
export function checkedRecord(given: unknown): z.infer<typeof schema> {
  const { data, error } = schema.safeParse(given);
  if (data !== undefined) return data;
  const [first] = error!.issues;
  throw new Error(`${first?.path.join('.')}: ${first?.message}`);
}
