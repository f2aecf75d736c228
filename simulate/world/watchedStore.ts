import { MemoryStore } from '../../streams/memory/index.ts';

/** Checks that nothing leaves the log that a reader still needs. */
export class WatchedStore extends MemoryStore {
  readonly #broken: (what: string) => void;

  constructor(flush: (apply: () => void) => Promise<void>, broken: (what: string) => void) {
    super(flush);
    this.#broken = broken;
  }

  override archive(...[topic, segment, bytes]: Parameters<MemoryStore['archive']>): Promise<void> {
    for (const [group, { low }] of this.groups(topic)) {
      if (low >= segment.to) continue;
      this.#broken(
        `${topic}@${segment.from} to ${segment.to} left the log, and ${group} is at ${low}`,
      );
    }
    return super.archive(topic, segment, bytes);
  }
}
