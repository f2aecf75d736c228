/**
 * One session with an OpenEnv server: a WebSocket to `/ws`, which has an environment of its own for as long
 * as it lasts. (Over HTTP each request gets a new environment, so nothing could be acted in.)
 *
 * Guarantees: one request at a time, each answered within `timeoutMs` and `MESSAGE_BYTES_MAX`; what comes too
 * late, is too large or makes no sense ends the session, as an end of the connection does, and from then on
 * every request fails with the same `SessionLost`.
 */
/// <reference path="./ws.d.ts" />
import { WebSocket } from 'ws';
import { messageOf, outsideText, raceAbort, type SleepClock } from '../../../base/index.ts';
import { type EnvironmentRequest, type Observed, type Refused, readReply } from './wire.ts';

/** Where the server is. */
export interface EnvironmentPlace {
  /** `http://host:8000`, without `/ws`. */
  readonly url: string;
  /** Sent as a bearer token; '' = none. */
  readonly key: string;
}

export interface SessionOptions extends EnvironmentPlace {
  readonly clock: SleepClock;
  /** Of one request, and of connecting. */
  readonly timeoutMs: number;
}

/** A message of a server. */
const MESSAGE_BYTES_MAX = 8_000_000;
/** How long to wait for a server that does not say goodbye. */
const GOODBYE_MS = 2_000;

/** The session is over, and its environment with it. The message may be shown. */
export class SessionLost extends Error {}

type Answer = Observed | Refused;

export class EnvironmentSession {
  readonly #socket: WebSocket;
  readonly #options: SessionOptions;
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  #asked = false;
  #lost: SessionLost | null = null;
  /** Settles the request under way. */
  #settle: ((answer: Answer | SessionLost) => void) | null = null;
  /** A server without a free session says so unasked. */
  #unasked: Answer | null = null;

  private constructor(socket: WebSocket, options: SessionOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on('message', (data: Buffer) => this.#heard(data.toString()));
    socket.on('error', (error: Error) => this.#lose(outsideText(messageOf(error))));
    this.closed = new Promise((resolve) => {
      socket.on('close', (code: number) => {
        this.#lose(`the server ended the connection (${code})`);
        resolve();
      });
    });
  }

  /** Connects. Rejects with the signal's reason, or `SessionLost`. */
  static async open(options: SessionOptions, signal: AbortSignal): Promise<EnvironmentSession> {
    const { url, key, timeoutMs } = options;
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws`, {
      maxPayload: MESSAGE_BYTES_MAX,
      perMessageDeflate: false,
      handshakeTimeout: timeoutMs,
      headers: key === '' ? {} : { authorization: `Bearer ${key}` },
    });
    const session = new EnvironmentSession(socket, options);
    const opened = new Promise<void>((resolve) => socket.once('open', () => resolve()));
    try {
      await raceAbort(Promise.race([opened, session.closed]), signal);
    } catch (error) {
      socket.terminate();
      throw error;
    }
    if (session.#lost !== null && session.#unasked === null) throw session.#lost;
    return session;
  }

  /** Rejects with the signal's reason, or `SessionLost`. */
  async ask(request: EnvironmentRequest, signal: AbortSignal): Promise<Answer> {
    const unasked = this.#unasked;
    this.#unasked = null;
    this.#asked = true;
    if (unasked !== null) return unasked;
    if (this.#lost !== null) throw this.#lost;
    const { clock, timeoutMs } = this.#options;
    const answered = new Promise<Answer | SessionLost>((resolve) => {
      this.#settle = resolve;
    });
    const alarm = new AbortController();
    const late = clock
      .sleep(timeoutMs, alarm.signal)
      .then(() => this.#lose(`no answer within ${timeoutMs} ms`))
      .catch(() => undefined);
    try {
      this.#socket.send(JSON.stringify(request));
      const answer = await raceAbort(answered, signal);
      if (answer instanceof SessionLost) throw answer;
      return answer;
    } catch (error) {
      // A late answer would be taken for the next one.
      this.#lose(signal.aborted ? 'the request was cancelled' : outsideText(messageOf(error)));
      throw signal.aborted ? error : this.#lost;
    } finally {
      this.#settle = null;
      alarm.abort();
      await late;
    }
  }

  /** Ends the session and its environment. */
  close(): void {
    this.#lose('it was closed');
  }

  #heard(text: string): void {
    const answer = readReply(text);
    const settle = this.#settle;
    this.#settle = null;
    if (answer === null) this.#lose('it sent something that is not an OpenEnv message', settle);
    else if (settle !== null) settle(answer);
    else if (!this.#asked && this.#unasked === null) this.#unasked = answer;
    else this.#lose('it sent a message that nothing had requested');
  }

  #lose(why: string, settle = this.#settle): void {
    if (this.#lost !== null) return;
    this.#lost = new SessionLost(why);
    settle?.(this.#lost);
    const gone = new AbortController();
    void this.closed.then(() => gone.abort());
    this.#options.clock.sleep(GOODBYE_MS, gone.signal).then(
      () => this.#socket.terminate(),
      () => undefined,
    );
    this.#socket.close();
  }
}
