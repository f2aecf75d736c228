/**
 * The tools that calls offer. Most calls offer what those before them did, in their session and in others:
 * equal tools are one value here, so that what was made of them once need not be made again.
 */
import { LruCache } from '../../base/index.ts';
import { canonicalJson } from '../../base/text/index.ts';
import type { FunctionTool } from '../conversation.ts';

/** Tools, and what they are compared by. */
export interface Known {
  readonly tools: readonly FunctionTool[];
  readonly key: string;
}

/** The agents of a run offer a few lists; more are forgotten, and so are long ones. */
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

/** Tools in one form, for comparisons. */
export function toolsKey(tools: readonly FunctionTool[]): string {
  return canonicalJson(tools);
}
