/**
 * The three memories of a fold (DeepAgent §2.3): what happened, what is being done, and what was learnt about
 * tools.
 *
 * `reference` takes what the model's reply has in its fence, whatever it is. Repaired, a memory is JSON of
 * its form and within the allowed length; other fields are left out.
 */
import { z } from 'zod';
import { MillraceError } from '../../base/index.ts';
import { codePoints } from '../text/characters.ts';
import type { EpisodeMode } from './episode.ts';
import { fencedJson } from './fencedText.ts';
import { lenientJson } from './lenientJson.ts';
import { pythonJson } from './pythonJson.ts';

/** As they appear in the context. */
export interface Memories {
  readonly episodic: string;
  readonly working: string;
  readonly tool: string;
}

/** Their kinds, in the order in which they are requested and appear in the context. */
export const memoryKinds = ['episodic', 'working', 'tool'] as const;
/** One of `memoryKinds`. */
export type MemoryKind = (typeof memoryKinds)[number];

/** The form of each. */
export const memorySchemas = {
  episodic: z.object({
    task_description: z.string(),
    key_events: z.array(
      z.object({ step: z.string(), description: z.string(), outcome: z.string() }),
    ),
    current_progress: z.string(),
  }),
  working: z.object({
    immediate_goal: z.string(),
    current_challenges: z.string(),
    next_actions: z.array(
      z.object({ type: z.enum(['tool_call', 'planning', 'decision']), description: z.string() }),
    ),
  }),
  tool: z.object({
    tools_used: z.array(
      z.object({
        tool_name: z.string(),
        success_rate: z.number().min(0).max(1),
        effective_parameters: z.array(z.string()),
        common_errors: z.array(z.string()),
        response_pattern: z.string(),
        experience: z.string(),
      }),
    ),
    derived_rules: z.array(z.string()),
  }),
} as const satisfies Record<MemoryKind, z.ZodType>;

/** A memory of its kind. */
export type MemoryOf<K extends MemoryKind> = z.infer<(typeof memorySchemas)[K]>;

/**
 * The memory in a reply. Fails with code `MEMORY_FORM` if it has none in the required form; never in the
 * reference, where a missing reply is an empty memory.
 */
export function memoryIn(
  reply: string | null,
  kind: MemoryKind,
  { mode, charactersMax }: { readonly mode: EpisodeMode; readonly charactersMax: number },
): string {
  if (mode === 'reference') return reply === null ? '' : fencedJson(reply);
  if (reply === null) throw formless(kind, 'the model gave nothing');
  const value = lenientJson(fencedJson(reply));
  if (value === undefined) throw formless(kind, 'it is not JSON');
  const memory = memorySchemas[kind].safeParse(value);
  if (!memory.success) {
    const [issue] = memory.error.issues;
    throw formless(kind, `${issue!.path.join('.') || 'the whole'}: ${issue!.message}`);
  }
  const text = pythonJson(memory.data, 2);
  if (codePoints(text) > charactersMax) {
    throw formless(kind, `it is longer than ${charactersMax} characters`);
  }
  return text;
}

function formless(kind: MemoryKind, why: string): MillraceError {
  return new MillraceError('MEMORY_FORM', `the ${kind} memory cannot be used: ${why}`);
}
