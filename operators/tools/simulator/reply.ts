/**
 * A simulator's reply as the answer of a tool (DeepAgent §3.2): the JSON of its first block marked `json`,
 * else of its first block, else of all of it. Anything but JSON becomes the field `response` of an object.
 */

import { fencedAny } from '../../deepAgent/fencedText.ts';

/** The answer: any JSON value. */
export function simulatorReply(text: string): unknown {
  const found = fencedAny(text);
  try {
    return JSON.parse(found) as unknown;
  } catch {
    return { response: found };
  }
}
