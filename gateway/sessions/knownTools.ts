/**
 * The tools that calls offer. Most calls offer the same tools as those before them, in their session and in
 * others: equal tools are one value here, so that work done for them once is not repeated.
 */
import { LruCache } from '../../base/index.ts';
import { canonicalJson } from '../../base/text/index.ts';
import type { FunctionTool } from '../conversation.ts';

/** Tools, and the text by which they are compared. */
export interface Known {
  readonly tools: readonly FunctionTool[];
  readonly key: string;
}

/** The agents of a run offer few different lists; beyond these, and for long lists, nothing is remembered. */
const KEPT_MAX = 64;
const CHARACTERS_MAX = 262_144;

/** See above. */
export class KnownTools {
  readonly #kept = new LruCache<Known>(KEPT_MAX);

  of(tools: readonly FunctionTool[]): Known {
    const text = JSON.stringify(tools);
    const kept = this.#kept.get(text);
    if (kept !== undefined) return kept;
    const made = { tools, key: toolsKey(tools) };
    if (text.length <= CHARACTERS_MAX) this.#kept.set(text, made);
    return made;
  }
}

/** Tools in a canonical form, for comparison. */
export function toolsKey(tools: readonly FunctionTool[]): string {
  return canonicalJson(tools);
}
