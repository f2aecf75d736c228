/**
 * Keys of served sessions, which are never stored: a key is the session's name plus a code that only the
 * gateway's key can produce. So a key is good for its own session only, even after a restart, and however
 * late a reward arrives.
 */
import { createHmac } from 'node:crypto';
import { sameText } from '../../base/http/index.ts';
import { newSecret } from '../../base/index.ts';
import { rolloutId } from '../../topics/index.ts';

const FORM = /^mr-([0-9a-f]{24})-([0-9a-f]{40})$/;
/** A served session's question: each session asks one of its own, once. */
export const SERVED = { phase: 'explore', round: 1, index: 0 } as const;

export class SessionKeys {
  readonly #secret: string;

  /** `secret` = the gateway's key. */
  constructor(secret: string) {
    this.#secret = secret;
  }

  isGateway(key: string): boolean {
    return sameText(key, this.#secret);
  }

  /** The id of the session with this name; a new one if the name is empty. */
  idNamed(name: string): string {
    const code = name === '' ? this.#code(`new ${newSecret()}`) : this.#code(`named ${name}`);
    return rolloutId({ id: `served-${code.slice(0, 24)}`, ...SERVED }, SERVED.index);
  }

  keyOf(id: string): string {
    const name = id.slice('served-'.length, 'served-'.length + 24);
    return `mr-${name}-${this.#code(`session ${name}`).slice(0, 40)}`;
  }

  /** The id of the session that this key belongs to; null = it is not one of ours. */
  idOf(key: string): string | null {
    const [, name] = FORM.exec(key) ?? [];
    if (name === undefined) return null;
    const id = rolloutId({ id: `served-${name}`, ...SERVED }, SERVED.index);
    return sameText(key, this.keyOf(id)) ? id : null;
  }

  #code(of: string): string {
    return createHmac('sha256', this.#secret).update(of).digest('hex');
  }
}
