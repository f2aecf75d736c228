/**
 * The models of the flywheel, as one function that completes a text.
 *
 * Three roles (ET-Agent §4.1): the policy rolls trajectories out, the analyst explains and rewrites single steps, the
 * critic finds faults, refines and judges. They may be one model.
 */
import { strip } from '../text/characters.ts';

export type Role = 'policy' | 'analyst' | 'critic';

export interface CompletionRequest {
  readonly role: Role;
  /** Names the request within its question (`1/locate`, `judge/3`); key the sampling by it. */
  readonly name: string;
  /** What the model is asked: the question itself for the policy, an instruction for the others. */
  readonly prompt: string;
  /** What stands after the generation prompt already. */
  readonly continuation: string;
}

/** Completes a text; null when the model gave up, which may be tried again. */
export type Complete = (request: CompletionRequest) => Promise<string | null>;

const TRIES = 4;
const CLOSE_TAGS = ['</answer>', '</search>', '</python>'];

/** The first answer of up to four tries; null when all gave up. */
export async function completeWithRetry(
  complete: Complete,
  request: CompletionRequest,
): Promise<string | null> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const text = await complete(request);
    if (text !== null) return text;
  }
  return null;
}

/** One piece of a trajectory: stripped, and cut behind its first closing tag; '' when all tries gave up. */
export async function completePiece(
  complete: Complete,
  request: CompletionRequest,
): Promise<string> {
  const text = strip((await completeWithRetry(complete, request)) ?? '');
  const ends = CLOSE_TAGS.map((tag) => ({ tag, at: text.indexOf(tag) })).filter(
    ({ at }) => at >= 0,
  );
  if (ends.length === 0) return text;
  return text.slice(0, Math.min(...ends.map(({ tag, at }) => at + tag.length)));
}
