/**
 * A registry server with Confluent's REST interface (Confluent, Karapace, Redpanda, Apicurio's compatible
 * interface). Subjects are `<run>.<topic>-value`, so that other clients find them by topic.
 *
 * Guarantees: no redirect is followed, no reply is larger than `REPLY_BYTES_MAX`, and a reply of another form
 * is an error.
 */
import { z } from 'zod';
import { Exchange, isRedirect, NoReply, saidIn } from '../../base/http/index.ts';
import { keepLogin, MillraceError, sleepClock, systemClock } from '../../base/index.ts';
import { jsonIn } from '../../base/text/index.ts';
import type { RegistrySettings } from './kafkaUrl.ts';
import type { SchemaRegistry } from './wireFormat.ts';

const TYPE = 'application/vnd.schemaregistry.v1+json';
const TIMEOUT_MS = 10_000;
const ATTEMPTS_MAX = 5;
const PAUSE_MS = 200;

/** Schemas of a few kilobytes, and lists of numbers. */
const REPLY_BYTES_MAX = 4 * 1024 * 1024;
const NEVER = new AbortController().signal;

const schemaId = z.object({ id: z.int().nonnegative() });
const versionNumbers = z.array(z.int());
const schemaText = z.object({ schema: z.string().transform(jsonIn) });

interface Answer {
  /** 0: there was no answer, and `text` says why. */
  readonly status: number;
  readonly text: string;
}

export class HttpRegistry implements SchemaRegistry {
  readonly #settings: RegistrySettings;
  readonly #run: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #clock = sleepClock(systemClock);
  readonly #exchange = new Exchange({
    clock: this.#clock,
    timeoutMs: TIMEOUT_MS,
    replyBytesMax: REPLY_BYTES_MAX,
  });

  constructor(settings: RegistrySettings, run: string) {
    this.#settings = settings;
    this.#run = run;
    const { username, password } = settings;
    const login = Buffer.from(`${username}:${password}`).toString('base64');
    keepLogin(username, password);
    this.#headers = {
      accept: TYPE,
      'content-type': TYPE,
      ...(username === '' ? {} : { authorization: `Basic ${login}` }),
    };
  }

  /** Also checks the older schemas here: the server's own rule may be laxer than ours. */
  async idOf(
    subject: string,
    schema: unknown,
    check: (older: readonly unknown[]) => void,
  ): Promise<number> {
    const path = `/subjects/${encodeURIComponent(`${this.#run}.${subject}`)}`;
    const text = JSON.stringify(schema);
    const known = await this.#ask(path, { schema: text });
    if (known.status === 200) return this.#read(schemaId, known).id;
    check(await this.#olderOf(path));
    const made = await this.#ask(`${path}/versions`, { schema: text });
    if (made.status === 200) return this.#read(schemaId, made).id;
    throw new MillraceError(
      'SCHEMA',
      `the schema registry rejects the schema of ${subject}: ${reasonIn(made)}; ` +
        'give new fields a default, and give a field whose type changed a new name',
      { context: { subject, status: made.status } },
    );
  }

  async byId(id: number): Promise<unknown> {
    const answer = await this.#ask(`/schemas/ids/${id}`);
    if (answer.status === 200) return this.#read(schemaText, answer).schema;
    throw new MillraceError(
      'SCHEMA',
      `the schema registry has no schema ${id}: ${reasonIn(answer)}`,
      {
        context: { id, status: answer.status },
      },
    );
  }

  async #olderOf(path: string): Promise<readonly unknown[]> {
    const versions = await this.#ask(`${path}/versions`);
    if (versions.status !== 200) return [];
    const older: unknown[] = [];
    for (const version of this.#read(versionNumbers, versions)) {
      const answer = await this.#ask(`${path}/versions/${version}`);
      if (answer.status === 200) older.push(this.#read(schemaText, answer).schema);
    }
    return older;
  }

  /** Retries when the server cannot be reached or has a problem of its own. */
  async #ask(path: string, body?: object): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#askOnce(path, body);
      const { status } = answer;
      if (status === 401 || status === 403) {
        throw new MillraceError(
          'KAFKA_AUTH',
          'the schema registry rejected the login; check MILLRACE_REGISTRY_USERNAME and MILLRACE_REGISTRY_PASSWORD',
          { context: { url: this.#settings.url, status } },
        );
      }
      if (status > 0 && status < 500) return answer;
      if (attempt === ATTEMPTS_MAX) {
        throw this.#problem(`does not answer (${reasonIn(answer)}); check that it is running`);
      }
      await this.#clock.sleep(PAUSE_MS * attempt);
    }
  }

  async #askOnce(path: string, body?: object): Promise<Answer> {
    const request = { url: this.#settings.url + path, headers: this.#headers };
    const content = body === undefined ? undefined : JSON.stringify(body);
    try {
      const reply = await this.#exchange.ask({ ...request, body: content }, NEVER);
      if (isRedirect(reply)) {
        throw this.#problem(
          `redirects (HTTP ${reply.status}), and redirects are not followed; give the address it leads to`,
        );
      }
      return { status: reply.status, text: reply.text() };
    } catch (error) {
      if (error instanceof NoReply) return { status: 0, text: error.message };
      throw error;
    }
  }

  /** The content of an answer. Fails with code `KAFKA` if it has another form. */
  #read<T>(form: z.ZodType<T>, { status, text }: Answer): T {
    const read = form.safeParse(jsonIn(text));
    if (read.success) return read.data;
    throw this.#problem(
      `does not answer like a schema registry (HTTP ${status}: ${saidIn(text)}); check its address`,
    );
  }

  #problem(what: string): MillraceError {
    const { url } = this.#settings;
    return new MillraceError('KAFKA', `the schema registry at ${url} ${what}`, {
      context: { url },
    });
  }
}

function reasonIn({ status, text }: Answer): string {
  if (status === 0) return text;
  const said = saidIn(text);
  return said === '' ? String(status) : `${status}, ${said}`;
}
