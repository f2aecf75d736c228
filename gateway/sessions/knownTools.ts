/**
 * The tools that a session's calls offer. Most calls offer what those before them did: equal tools are one
 * value here, so that what was made of them once need not be made again.
 */
import type { FunctionTool } from '../conversation.ts';
import { toolsKey } from './policyChat.ts';

/** Tools, and what they are compared by. */
export interface Known {
  readonly tools: readonly FunctionTool[];
  readonly key: string;
}

/** Agents offer a few; more are forgotten. */
const KEPT_MAX = 8;

/** See above. */
export class KnownTools {
  readonly #kept = new Map<string, Known>();

  of(tools: readonly FunctionTool[]): Known {
    const text = JSON.stringify(tools);
    const found = this.#kept.get(text) ?? { tools, key: toolsKey(tools) };
    if (this.#kept.size === KEPT_MAX) this.#kept.clear();
    this.#kept.set(text, found);
    return found;
  }
}
