/** A tool that settings can choose: a file, and a line in `all.ts`. */
import type { z } from 'zod';
import type { SleepClock } from '../../base/index.ts';
import type { AskOnce, ToolCache } from '../../operators/tools/cache/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import type { ReadPage } from '../../operators/tools/pages/index.ts';
import type { Summariser } from '../../operators/tools/web/index.ts';
import type { JobContext } from '../defineJob.ts';
import type { CommonSettings } from './commonSettings.ts';

/** Settings for every tool. */
export interface SettingsOfTools {
  readonly tools: CommonSettings;
  readonly corpus: string;
  readonly searchTop: number;
  readonly searchCharacters: number;
}

/** The job that the tools are for. */
export type ToolContext = Pick<
  JobContext<SettingsOfTools>,
  'settings' | 'folder' | 'seed' | 'clock' | 'print' | 'replay' | 'own'
>;

/** What several tools share, opened when the first of them needs it. */
export interface Shared {
  readonly clock: SleepClock;
  /** Null if there is no cache. */
  readonly cache: () => ToolCache | null;
  readonly once: () => AskOnce;
  readonly read: () => ReadPage;
  /** Null if no model is named. */
  readonly summariser: () => Summariser | null;
}

/** How to open a tool; anything wrong with its settings fails there. */
export interface ToolKind<Own extends z.ZodType = z.ZodType> {
  /** Its own settings, `tools.NAME`; left out = it has none. */
  readonly settings?: Own;
  open(context: ToolContext, shared: Shared, own: z.infer<Own>): Promise<Tool> | Tool;
}

/** Gives a kind its types and returns it unchanged. */
export function defineTool<Own extends z.ZodType = z.ZodUndefined>(
  kind: ToolKind<Own>,
): ToolKind<Own> {
  return kind;
}
