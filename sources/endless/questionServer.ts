/**
 * Questions that programs send: `POST /questions`, JSON (one question or a list of them) or JSON Lines.
 *
 * An answer 200 says that what it lists as `accepted` is in the run's log, and what it lists as `refused` is
 * not, and why. Anything else means that nothing new is certain: if it is sent again, a question that did get
 * in is recognised by its id, or by the `Idempotency-Key` of the request if it has none, and is asked once.
 * When the queue is full, the answer is 429 with `Retry-After`.
 *
 * It listens on 127.0.0.1 by default, and elsewhere only with a token. A page in someone's browser cannot
 * send here: requests with an `Origin`, and those that name another host, are refused.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  admit,
  BodyReader,
  isLoopback,
  listenOn,
  Refusal,
  refuse,
  sendJson,
} from '../../base/http/index.ts';
import {
  eitherSignal,
  freshName,
  keepSecret,
  MillraceError,
  messageOf,
  type SleepClock,
} from '../../base/index.ts';
import type { Opening, ResumableItem } from '../../streams/index.ts';
import { parsed } from '../json.ts';
import { idCharactersMax, type QuestionRow } from '../questionRow.ts';
import type { RawRow } from '../rawRow.ts';
import { type ArrivalRules, arrival } from './arrival.ts';
import { Channel } from './channel.ts';
import type { EndlessQuestions } from './endlessQuestions.ts';

export interface QuestionServerOptions extends ArrivalRules {
  /** Port 0 = any free one. */
  readonly host: string;
  readonly port: number;
  /** Required of every request as `Authorization: Bearer …`; empty = none, for this machine only. */
  readonly token: string;
  readonly clock: SleepClock;
  /** Size limit of a request's body. */
  readonly bytesMax?: number;
  /** Limit of questions waiting to be taken. */
  readonly waitingMax?: number;
  /** How long a request waits until its questions are in the log. */
  readonly patienceMs?: number;
  /** Called with the address once the server listens. */
  readonly listening?: (url: string) => void;
}

const BYTES_MAX = 1024 * 1024;
const WAITING_MAX = 256;
const PATIENCE_MS = 30_000;
/** More requests than questions may wait: the others are told to try again. */
const CONNECTIONS_MAX = 2048;
/** Requests whose body is being read. */
const READING_MAX = 64;
const SOURCE = 'posted';

/** Fails with code `USAGE` if other machines could reach it without a token. */
export function questionServer(options: QuestionServerOptions): EndlessQuestions {
  const { host, port, token } = options;
  keepSecret(token);
  if (token === '' && !isLoopback(host)) {
    throw new MillraceError(
      'USAGE',
      `other machines can reach ${host}, so listening there needs a token: set MILLRACE_QUESTIONS_TOKEN, or listen on 127.0.0.1`,
    );
  }
  return {
    kind: 'resumable',
    name: `POST http://${host}:${port}/questions`,
    open: (opening) => new QuestionServer(options, opening).items(),
  };
}

interface Posted {
  readonly value: QuestionRow;
  readonly committed: () => void;
}

interface Refused {
  /** Index in the request, from 0. */
  readonly index: number;
  readonly field: string;
  readonly reason: string;
}

class QuestionServer {
  readonly #options: QuestionServerOptions;
  readonly #opening: Opening;
  readonly #channel: Channel<Posted>;
  readonly #bodies: BodyReader;

  constructor(options: QuestionServerOptions, opening: Opening) {
    this.#options = options;
    this.#opening = opening;
    this.#bodies = new BodyReader(READING_MAX, options.clock);
    this.#channel = new Channel(options.waitingMax ?? WAITING_MAX);
  }

  async *items(): AsyncGenerator<ResumableItem<QuestionRow>, void> {
    const { host, port, listening } = this.#options;
    const server = await listenOn(
      { host, port, connectionsMax: CONNECTIONS_MAX, failed: (error) => this.#channel.fail(error) },
      (from, to) => {
        this.#answer(from, to).catch(() => to.destroy());
      },
    ).catch((error: unknown) => {
      const message = `cannot listen for questions on ${host}:${port}: ${messageOf(error)}`;
      throw new MillraceError('USAGE', message);
    });
    listening?.(`${server.url}/questions`);
    try {
      for await (const posted of this.#channel.items(this.#opening.signal)) {
        yield { ...posted, at: {} };
      }
    } finally {
      void server.end();
      // Lets the answer just given reach its sender.
      setImmediate(() => void server.close());
    }
  }

  async #answer(from: IncomingMessage, to: ServerResponse): Promise<void> {
    try {
      this.#admit(from);
      const { accepted, refused } = await this.#take(from);
      const status = accepted.length === 0 && refused.length > 0 ? 422 : 200;
      sendJson(to, status, { accepted, refused });
    } catch (error) {
      // V8 uses its stack for nested lists.
      const deep = error instanceof RangeError;
      if (deep) return refuse(from, to, new Refusal(400, 'invalid JSON: nested too deeply'));
      if (!(error instanceof Refusal)) throw error;
      refuse(from, to, error);
    }
  }

  #admit({ method, url, headers }: IncomingMessage): void {
    admit(headers, this.#options);
    if (url?.split('?')[0] !== '/questions')
      throw new Refusal(404, 'not found; this server has POST /questions');
    if (method !== 'POST') throw new Refusal(405, 'send questions by POST', { allow: 'POST' });
  }

  async #take(from: IncomingMessage): Promise<{ accepted: { id: string }[]; refused: Refused[] }> {
    if (this.#channel.room <= 0) throw full();
    const { bytesMax = BYTES_MAX } = this.#options;
    const body = await this.#bodies.read(from, bytesMax, full);
    const rows = rowsOf(from.headers['content-type'] ?? '', body);
    const key = keyOf(from);
    const refused: Refused[] = [];
    const posted: Posted[] = [];
    const written: Promise<void>[] = [];
    for (const [index, row] of rows.entries()) {
      const item = arrival(named(row, key, index), this.#placeOf(key, index), this.#options);
      if ('deadLetter' in item) {
        const { field, reason } = item.deadLetter;
        refused.push({ index, field, reason });
        continue;
      }
      written.push(new Promise((committed) => posted.push({ value: item.value, committed })));
    }
    const { waitingMax = WAITING_MAX } = this.#options;
    if (posted.length > waitingMax) {
      throw new Refusal(413, `send at most ${waitingMax} questions per request`);
    }
    if (posted.length > this.#channel.room) {
      throw full();
    }
    for (const one of posted) this.#channel.offer(one);
    await this.#untilWritten(Promise.all(written), posted);
    return { accepted: posted.map(({ value }) => ({ id: value.id })), refused };
  }

  #placeOf(key: string, index: number) {
    return { origin: 'POST /questions', source: SOURCE, unique: `${key || freshName()}-${index}` };
  }

  /**
   * Fails with 503 if it takes too long or the run ends first; questions not yet taken are then withdrawn.
   */
  async #untilWritten(written: Promise<unknown>, posted: readonly Posted[]): Promise<void> {
    const { clock, patienceMs = PATIENCE_MS } = this.#options;
    const { signal } = this.#opening;
    const done = new AbortController();
    const either = eitherSignal([signal, done.signal]);
    const late = clock.sleep(patienceMs, either.signal).catch(() => undefined);
    const inTime = await Promise.race([written.then(() => true), late.then(() => false)]).finally(
      () => {
        done.abort();
        either.release();
      },
    );
    if (inTime) return;
    for (const one of posted) this.#channel.withdraw(one);
    throw new Refusal(
      503,
      'the questions are not in the log yet; send them again (none will be asked twice)',
      { retrySeconds: 5 },
    );
  }
}

function full(): Refusal {
  return new Refusal(429, 'the queue of questions is full; send these again later', {
    retrySeconds: 1,
  });
}

/** A question without an id takes that of its request, if there is one. */
function named(row: RawRow, key: string, index: number): RawRow {
  if (key === '' || row.kind !== 'fields' || row.fields.id !== undefined) return row;
  return { ...row, fields: { ...row.fields, id: `${SOURCE}-${key}-${index}` } };
}

function keyOf({ headers }: IncomingMessage): string {
  const key = String(headers['idempotency-key'] ?? '').replace(/^"|"$/g, '');
  if (key.length <= idCharactersMax / 2) return key;
  return createHash('sha256').update(key).digest('hex');
}

function rowsOf(type: string, body: string): readonly RawRow[] {
  const kind = type.split(';')[0]!.trim().toLowerCase();
  const otherwise = 'a question must be a JSON object';
  if (['application/x-ndjson', 'application/jsonl', 'application/json-lines'].includes(kind)) {
    const lines = body.split('\n').filter((line) => line.trim() !== '');
    return lines.map((line, i) => parsed(i + 1, line, otherwise));
  }
  if (kind !== 'application/json') {
    throw new Refusal(415, 'send Content-Type: application/json or application/x-ndjson');
  }
  let given: unknown;
  try {
    given = JSON.parse(body);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new Refusal(400, `invalid JSON: ${(error as Error).message}`);
  }
  const all: readonly unknown[] = Array.isArray(given) ? given : [given];
  return all.map((one, i) => parsed(i + 1, JSON.stringify(one), otherwise));
}
