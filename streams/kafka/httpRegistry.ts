/**
 * A registry server with Confluent's REST interface (Confluent, Karapace, Redpanda, Apicurio's compatible
 * interface). Subjects are `<run>.<topic>-value`, so that other clients find them by topic.
 */
import { MillraceError, messageOf } from '../../base/errors.ts';
import type { RegistrySettings } from './kafkaUrl.ts';
import type { SchemaRegistry } from './registry.ts';

const TYPE = 'application/vnd.schemaregistry.v1+json';
const TIMEOUT_MS = 10_000;
const ATTEMPTS_MAX = 5;
const PAUSE_MS = 200;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export class HttpRegistry implements SchemaRegistry {
  readonly #settings: RegistrySettings;
  readonly #run: string;

  constructor(settings: RegistrySettings, run: string) {
    this.#settings = settings;
    this.#run = run;
  }

  /** The older schemas are checked here too: the server's own rule may be laxer than ours. */
  async idOf(
    subject: string,
    schema: unknown,
    check: (older: readonly unknown[]) => void,
  ): Promise<number> {
    const path = `/subjects/${encodeURIComponent(`${this.#run}.${subject}`)}`;
    const text = JSON.stringify(schema);
    const known = await this.#ask('POST', path, { schema: text });
    if (known.status === 200) return idIn(known);
    check(await this.#olderOf(path));
    const made = await this.#ask('POST', `${path}/versions`, { schema: text });
    if (made.status === 200) return idIn(made);
    throw new MillraceError(
      'SCHEMA',
      `the schema registry refuses the schema of ${subject}: ${reasonIn(made)}; ` +
        'give added fields a default, and give a field whose type changed a new name',
      { context: { subject, status: made.status } },
    );
  }

  async byId(id: number): Promise<unknown> {
    const answer = await this.#ask('GET', `/schemas/ids/${id}`);
    if (answer.status === 200) return schemaIn(answer);
    throw new MillraceError(
      'SCHEMA',
      `the schema registry has no schema ${id}: ${reasonIn(answer)}`,
      {
        context: { id, status: answer.status },
      },
    );
  }

  async #olderOf(path: string): Promise<readonly unknown[]> {
    const versions = await this.#ask('GET', `${path}/versions`);
    if (versions.status !== 200) return [];
    const older: unknown[] = [];
    for (const version of versions.body as readonly number[]) {
      const answer = await this.#ask('GET', `${path}/versions/${version}`);
      if (answer.status === 200) older.push(schemaIn(answer));
    }
    return older;
  }

  /** Asks again when the server cannot be reached or has a problem of its own. */
  async #ask(method: string, path: string, body?: object): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#askOnce(method, path, body).catch((error: unknown) => error);
      if (!(answer instanceof Error)) {
        const { status } = answer as Answer;
        if (status === 401 || status === 403) {
          throw new MillraceError(
            'KAFKA_AUTH',
            'the schema registry refuses us; check MILLRACE_REGISTRY_USERNAME and MILLRACE_REGISTRY_PASSWORD',
            { context: { url: this.#settings.url, status } },
          );
        }
        if (status < 500) return answer as Answer;
      }
      if (attempt === ATTEMPTS_MAX) {
        const why = answer instanceof Error ? messageOf(answer) : reasonIn(answer as Answer);
        throw new MillraceError(
          'KAFKA',
          `the schema registry at ${this.#settings.url} does not answer (${why}); check that it runs`,
          { context: { url: this.#settings.url } },
        );
      }
      await new Promise((done) => setTimeout(done, PAUSE_MS * attempt));
    }
  }

  async #askOnce(method: string, path: string, body?: object): Promise<Answer> {
    const { url, username, password } = this.#settings;
    const login = Buffer.from(`${username}:${password}`).toString('base64');
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        accept: TYPE,
        'content-type': TYPE,
        ...(username === '' ? {} : { authorization: `Basic ${login}` }),
      },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json().catch(() => null) };
  }
}

function idIn({ body }: Answer): number {
  return (body as { readonly id: number }).id;
}

function schemaIn({ body }: Answer): unknown {
  return JSON.parse((body as { readonly schema: string }).schema);
}

function reasonIn({ status, body }: Answer): string {
  const message = (body as { readonly message?: unknown } | null)?.message;
  return typeof message === 'string' ? `${status}, ${message}` : String(status);
}
