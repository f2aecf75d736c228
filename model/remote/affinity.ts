/**
 * Which server a session goes to. A session keeps its server, so that the shared prefix of its requests is in
 * that server's cache; new sessions take turns. Remembers the most recent sessions.
 */
const SESSIONS_MAX = 10_000;

export class SessionAffinity {
  readonly #servers: number;
  readonly #homes = new Map<string, number>();
  #next = 0;

  constructor(servers: number) {
    this.#servers = servers;
  }

  /** All servers in the order in which the session tries them, its own first. */
  order(session: string): number[] {
    const home = this.#homes.get(session) ?? this.#next++ % this.#servers;
    this.bind(session, home);
    return Array.from({ length: this.#servers }, (_, i) => (home + i) % this.#servers);
  }

  /** From now on this is the session's server. */
  bind(session: string, server: number): void {
    this.#homes.delete(session);
    this.#homes.set(session, server);
    for (const oldest of this.#homes.keys()) {
      if (this.#homes.size <= SESSIONS_MAX) break;
      this.#homes.delete(oldest);
    }
  }
}
