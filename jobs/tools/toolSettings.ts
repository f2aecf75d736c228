/**
 * The tools of a ready job as settings: which ones the policy may call, what searches the web, what reads
 * pages, what summarises, and what is cached.
 *
 * `tools` may also be just the list of names: `--set tools=python,search` means `--set
 * tools.use=python,search`.
 */
import { z } from 'zod';
import * as all from './all.ts';
import { commonSettings } from './commonSettings.ts';
import { listed } from './listed.ts';
import type { ToolKind } from './toolKind.ts';

/** The tools that a ready job can have, by name. */
export const toolKinds: Readonly<Record<string, ToolKind>> = all;
/** Their names. */
export const toolNames: readonly string[] = Object.keys(toolKinds);

const ownSettings: Record<never, z.ZodType> = Object.fromEntries(
  Object.entries(toolKinds).flatMap(([name, { settings }]) =>
    settings === undefined ? [] : [[name, settings]],
  ),
);

/** The settings `tools` of a ready job that has the tools `use` unless others are named. */
export function toolSettingsWith(use: string) {
  return z
    .preprocess(
      (given) => (typeof given === 'string' || Array.isArray(given) ? { use: given } : given),
      z.object({
        use: z
          .preprocess(listed, z.array(z.enum(toolNames)))
          .prefault(use)
          .describe(
            `tools that the policy may call: ${toolNames.join(', ')}, or none; setting a search provider adds search`,
          ),
        ...ownSettings,
        ...commonSettings,
      }),
    )
    .prefault({});
}

/** The settings `tools` of a ready job. */
export const toolSettings = toolSettingsWith('python');

/** `toolSettings` with all defaults filled in. */
export type ToolSettings = z.infer<typeof toolSettings>;
