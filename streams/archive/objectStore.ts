/**
 * Segments in an object store, by PUT and GET: any HTTP server that keeps what is put there, S3, and whatever
 * speaks its protocol.
 *
 * Requests are signed (AWS Signature Version 4) if the environment has `AWS_ACCESS_KEY_ID` and
 * `AWS_SECRET_ACCESS_KEY`, carry the token of `MILLRACE_ARCHIVE_TOKEN` if it has that, and are plain
 * otherwise, as they are to hosts that the user has not named (base/namedHosts.ts). Guarantees: no reply is
 * larger than requested, no redirect is followed, what may be retried is retried a few times, and no secret
 * is in an error or a record.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { AwsClient } from 'aws4fetch';
import {
  areNamed,
  HOSTS_VARIABLE,
  keepLogin,
  keepSecret,
  MillraceError,
  messageOf,
  outsideText,
  withoutSecrets,
} from '../../base/index.ts';

const TRIES = 5;
const FIRST_PAUSE_MS = 200;
const TRY_MS = 120_000;
/** How many bytes of a refusal to read, and how many characters of it to show. */
const SAID_MAX = 65_536;
const WORDS_MAX = 300;

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether an archive is an address and not a folder. */
export function isAddress(archive: string): boolean {
  return /^https?:\/\//i.test(archive);
}

/**
 * The address without a last slash. Fails with code `USAGE` on one that carries a login or a query, and
 * repeats nothing of it.
 */
export function archiveAddress(given: string): string {
  if (!URL.canParse(given)) {
    if (/[@?]/.test(given)) keepSecret(given);
    throw new MillraceError(
      'USAGE',
      'the address of the archive is not a valid URL: write https://host/bucket/run',
    );
  }
  const url = new URL(given);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    keepSecret(given);
    keepLogin(url.username, url.password);
    throw new MillraceError(
      'USAGE',
      `the address of the archive at ${url.host} carries a login or a query, which would be stored with the run: put keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a token in MILLRACE_ARCHIVE_TOKEN`,
    );
  }
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

/** A request that the server refused, or that got no answer. */
class Refused extends Error {
  /** Whether another attempt may succeed. */
  readonly passing: boolean;

  constructor(why: string, passing: boolean) {
    super(why);
    this.passing = passing;
  }
}

/** Loaded with the first request: every command opens logs, and few logs are archived there. */
type Signer = () => Promise<AwsClient>;

function signer(login: ConstructorParameters<typeof AwsClient>[0]): Signer {
  let made: Promise<AwsClient> | undefined;
  return () => (made ??= import('aws4fetch').then((module) => new module.AwsClient(login)));
}

/** Puts and gets objects by their whole addresses. */
export class ObjectStore {
  readonly #signer: Signer | null;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #env: Environment;

  constructor(env: Environment = process.env) {
    const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: key, AWS_SESSION_TOKEN: session } = env;
    const token = env.MILLRACE_ARCHIVE_TOKEN ?? '';
    this.#env = env;
    for (const secret of [key, session, token]) keepSecret(secret ?? '');
    const signs = (id ?? '') !== '' && (key ?? '') !== '';
    this.#headers = token === '' || signs ? {} : { authorization: `Bearer ${token}` };
    this.#signer = signs
      ? signer({
          accessKeyId: id!,
          secretAccessKey: key!,
          ...(session ? { sessionToken: session } : {}),
          service: 's3',
          ...regionOf(env),
          retries: 0,
        })
      : null;
  }

  /** Resolves once the server has it. */
  async put(url: string, bytes: Buffer): Promise<void> {
    await this.#often(`PUT ${url}`, async () => {
      const reply = await this.#ask(url, { method: 'PUT', body: new Uint8Array(bytes) });
      await this.#mustBeFine(reply);
      await reply.arrayBuffer();
    });
  }

  /** The object, which is `length` bytes long. */
  get(url: string, length: number): Promise<Buffer> {
    return this.#often(`GET ${url}`, async () => {
      const reply = await this.#ask(url, { method: 'GET' });
      await this.#mustBeFine(reply);
      return read(reply, length);
    });
  }

  async #ask(url: string, init: RequestInit): Promise<Response> {
    const named = areNamed([new URL(url).host], this.#env);
    const headers = named ? this.#headers : {};
    const whole = { ...init, headers, redirect: 'manual' as const };
    const signed = named ? await (await this.#signer?.())?.sign(url, whole) : undefined;
    const request = signed ?? new Request(url, whole);
    return fetch(request, { signal: AbortSignal.timeout(TRY_MS) });
  }

  async #mustBeFine(reply: Response): Promise<void> {
    const { status } = reply;
    if (reply.ok) return;
    const said = withoutSecrets(await read(reply, SAID_MAX, true).then(String, () => ''));
    const words = outsideText(/<Message>([^<]*)/.exec(said)?.[1] ?? '', WORDS_MAX);
    const why =
      status === 404
        ? 'does not exist'
        : `was refused with status ${status}${this.#unsaid(reply.url)}`;
    throw new Refused(
      words === '' ? why : `${why} (${words})`,
      status >= 500 || status === 429 || status === 408,
    );
  }

  /** What may be wrong if a login was held back. */
  #unsaid(url: string): string {
    const has = this.#signer !== null || Object.keys(this.#headers).length > 0;
    const { host } = new URL(url);
    if (!has || areNamed([host], this.#env)) return '';
    return ` (credentials from the environment go only to hosts that you name; set ${HOSTS_VARIABLE}=${host} if it is yours)`;
  }

  async #often<T>(what: string, once: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await once();
      } catch (error) {
        const passing = error instanceof Refused ? error.passing : true;
        if (!passing || tries === TRIES)
          throw new Error(`${what} ${whyNot(error)}`, { cause: error });
        await pause(FIRST_PAUSE_MS * 2 ** (tries - 1));
      }
    }
  }
}

function regionOf({ AWS_REGION, AWS_DEFAULT_REGION }: Environment): { region?: string } {
  const region = AWS_REGION || AWS_DEFAULT_REGION;
  return region ? { region } : {};
}

function whyNot(error: unknown): string {
  if (error instanceof Refused) return error.message;
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return `got no answer: ${messageOf(cause)}`;
}

/** At most `most` bytes of a reply; more are an error, or are `cut` off. */
async function read(reply: Response, most: number, cut = false): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of reply.body ?? []) {
    parts.push(part);
    length += part.length;
    if (length > most && cut) break;
    if (length > most) throw new Refused(`has more than the ${most} bytes that were stored`, false);
  }
  return Buffer.concat(parts).subarray(0, most);
}
