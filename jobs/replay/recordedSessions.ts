/** The recorded sessions of agents: positions are held in memory, records are read on demand. */
import type { RecordedSession } from '../../gateway/index.ts';
import type { Log } from '../../streams/index.ts';
import { type ModelCallRecord, type Rollout, topics } from '../../topics/index.ts';

export class RecordedSessions {
  readonly #log: Log;
  readonly #rollouts = new Map<string, number>();
  /** Positions of a session's calls, by number. */
  readonly #calls = new Map<string, Map<number, number>>();

  constructor(log: Log) {
    this.#log = log;
  }

  addRollout({ id, session }: Rollout, offset: number): void {
    if (session != null) this.#rollouts.set(id, offset);
  }

  addCall({ sessionId, call }: ModelCallRecord, offset: number): void {
    const known = this.#calls.get(sessionId) ?? new Map<number, number>();
    this.#calls.set(sessionId, known.set(call, offset));
  }

  /** Null if there is no such rollout. */
  async of(id: string): Promise<RecordedSession | null> {
    const offset = this.#rollouts.get(id);
    if (offset === undefined) return null;
    const [stored] = await this.#log.fetch(topics.rollouts, [{ partition: 0, offset }]);
    const rollout = stored!.value;
    const places = this.#calls.get(id);
    const offsets = (rollout.session?.calls ?? []).flatMap(({ call }) => places?.get(call) ?? []);
    const calls = await this.#log.fetch(
      topics.calls,
      offsets.map((at) => ({ partition: 0, offset: at })),
    );
    return { rollout, calls: calls.map(({ value }) => value) };
  }
}
