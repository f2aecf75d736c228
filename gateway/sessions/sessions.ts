/**
 * The sessions of a gateway: open ones by key, and ended ones, whose late calls are refused in a way that no
 * SDK retries.
 *
 * A key is unguessable and belongs to one session: it lets its holder speak for that session and no other.
 */
import { LruCache, newSecret } from '../../base/index.ts';
import { GatewayRefusal, type ModelSession, type ModelSessions } from '../conversation.ts';

/** Keys of ended sessions that are remembered; older ones become unknown. */
const ENDED_MAX = 10_000;

/** See above. */
export class Sessions implements ModelSessions {
  readonly models: readonly string[];
  readonly #open = new Map<string, ModelSession>();
  readonly #ended = new LruCache<true>(ENDED_MAX);

  /** `model` = the name under which the policy is listed. */
  constructor(model: string) {
    this.models = [model];
  }

  /** Opens a session and returns its key. */
  open(session: ModelSession): string {
    const key = `mr-${newSecret()}`;
    this.#open.set(key, session);
    return key;
  }

  /** Anything that arrives with this key from now on is refused. */
  close(key: string): void {
    this.#open.delete(key);
    this.#ended.set(key, true);
  }

  session(key: string): ModelSession {
    const session = this.#open.get(key);
    if (session !== undefined) return session;
    if (this.#ended.get(key) === true) {
      throw new GatewayRefusal('ended', 'this session has ended');
    }
    throw new GatewayRefusal('key', 'no session has this key');
  }
}
