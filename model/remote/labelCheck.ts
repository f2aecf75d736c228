/**
 * Checks which weights a server has, if its answers do not say so: asks it after each answer.
 *
 * A label that is still there afterwards was there all the time, since a restarted server forgets it. Answers
 * that arrive meanwhile share the next check.
 */
import { MillraceError } from '../../base/index.ts';
import type { ServerPool } from './serverPool.ts';
import type { LabelWire } from './serverWire.ts';

interface Asking {
  /** Under way; began before the current caller asked. */
  running: Promise<string | null> | null;
  /** Begins once that has ended. */
  next: Promise<string | null> | null;
}

export class LabelCheck {
  readonly #pool: ServerPool;
  readonly #wire: LabelWire;
  readonly #asking: readonly Asking[];

  constructor(pool: ServerPool, wire: LabelWire) {
    this.#pool = pool;
    this.#wire = wire;
    this.#asking = pool.urls.map(() => ({ running: null, next: null }));
  }

  /** Fails with code `WEIGHTS_LOST` if the server has another label now. */
  async check(server: number, label: string): Promise<void> {
    const found = await this.#label(server);
    if (found === label) return;
    throw new MillraceError(
      'WEIGHTS_LOST',
      `${this.#pool.urls[server]} has weights '${found}' instead of '${label}': it was restarted, or something else loads weights into it`,
    );
  }

  #label(server: number): Promise<string | null> {
    const asking = this.#asking[server]!;
    if (asking.running === null) {
      asking.running = this.#ask(server).finally(() => {
        asking.running = null;
      });
      return asking.running;
    }
    asking.next ??= asking.running
      .catch(() => null)
      .then(() => {
        asking.next = null;
        return this.#label(server);
      });
    return asking.next;
  }

  async #ask(server: number): Promise<string | null> {
    const result = await this.#pool.askServer(server, this.#wire.path, undefined, {
      patient: true,
    });
    return result.kind === 'answer' ? this.#wire.read(result.value) : null;
  }
}
