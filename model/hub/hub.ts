/**
 * The Hub's interface, by `@huggingface/hub`: the commit of a revision, its files, and their bytes from any
 * place on.
 *
 * Guarantees: the token goes to the Hub's own address only; whatever is refused is a sentence with what to
 * do; what may work when it is tried again is marked (`Passing`).
 */
import { saidIn, serverAddress } from '../../base/http/index.ts';
import { keepSecret, MillraceError, messageOf, outsideText } from '../../base/index.ts';
import type { Env, ModelName } from './cache.ts';
import type { HubFile } from './neededFiles.ts';

const HUB = 'https://huggingface.co';

/** A failure that may pass: a cut connection, a busy server. */
export class Passing extends MillraceError<'HUB'> {}

export class Hub {
  readonly url: string;
  readonly #name: ModelName;
  readonly #token: string;
  readonly #signal: AbortSignal;

  constructor(name: ModelName, env: Env, signal: AbortSignal) {
    this.url = serverAddress(env.HF_ENDPOINT || HUB, { what: 'the Hub', suffix: '/api' });
    this.#name = name;
    this.#token = env.HF_TOKEN?.trim() ?? '';
    keepSecret(this.#token);
    this.#signal = signal;
  }

  /** The commit that the revision stands for. */
  async commit(): Promise<string> {
    // A kept connection may have just been closed at the other end.
    return this.#commit().catch((error: unknown) => {
      if (error instanceof Passing) return this.#commit();
      throw error;
    });
  }

  async #commit(): Promise<string> {
    const { modelInfo } = await import('@huggingface/hub');
    const { model: name, revision } = this.#name;
    const asked = this.#asking();
    const { sha } = await asked.reply(
      modelInfo({
        name,
        revision,
        additionalFields: ['sha'],
        hubUrl: this.url,
        fetch: asked.fetch,
      }),
    );
    if (/^[0-9a-f]{40}$/.test(sha)) return sha;
    throw new MillraceError(
      'HUB',
      `${this.url} did not name a commit for ${name}: is it a Hugging Face Hub?`,
    );
  }

  async files(commit: string): Promise<readonly HubFile[]> {
    const { listFiles } = await import('@huggingface/hub');
    const asked = this.#asking();
    const found: HubFile[] = [];
    const read = async (): Promise<void> => {
      for await (const { type, path, size, oid, lfs } of listFiles({
        ...{ repo: this.#name.model, revision: commit, recursive: true },
        ...{ hubUrl: this.url, fetch: asked.fetch },
      })) {
        if (type !== 'file') continue;
        found.push({ path, bytes: lfs?.size ?? size, digest: lfs?.oid ?? oid ?? '' });
        if (found.length > FILES_MAX) throw new MillraceError('HUB', TOO_MANY);
      }
    };
    await asked.reply(read());
    return found;
  }

  /** The bytes of a file from `from` on. */
  async *read(
    {
      commit,
      file,
      from,
    }: { readonly commit: string; readonly file: HubFile; readonly from: number },
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void> {
    const { downloadFile } = await import('@huggingface/hub');
    const { model: repo } = this.#name;
    const { path, bytes: size, digest: etag } = file;
    const asked = this.#asking(signal);
    const url = `${this.url}/${repo}/resolve/${commit}/${path}`;
    // By plain ranges, which every mirror of the Hub supports.
    const blob = await asked.reply(
      downloadFile({
        ...{ repo, path, revision: commit, hubUrl: this.url, fetch: asked.fetch },
        ...{ xet: false, downloadInfo: { size, etag, url } },
      }),
    );
    const pieces = blob!.slice(from).stream()[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await asked.reply(pieces.next());
        if (done) return;
        yield value as Uint8Array;
      }
    } finally {
      await pieces.return?.().catch(() => undefined);
    }
  }

  /** `fetch` for the package, which keeps why it failed: the package passes on parts of it. */
  #asking(signal = this.#signal): {
    readonly fetch: typeof fetch;
    reply<T>(waited: Promise<T>): Promise<T>;
  } {
    let failed: unknown;
    const own = new URL(this.url).origin;
    return {
      fetch: async (input, init) => {
        try {
          const headers = new Headers(init?.headers);
          headers.delete('authorization');
          const isOwn = new URL(String(input)).origin === own;
          if (isOwn && this.#token !== '') headers.set('authorization', `Bearer ${this.#token}`);
          const reply = await fetch(input, { ...init, headers, signal });
          if (!reply.ok) throw await this.#refused(reply);
          if (headers.has('range') && reply.status !== 206)
            throw new MillraceError(
              'HUB',
              `${this.url} does not support range requests, so the download cannot resume: remove the files that end in .incomplete, and repeat the command`,
            );
          return reply;
        } catch (error) {
          failed = error;
          throw error;
        }
      },
      reply: async (waited) => {
        try {
          return await waited;
        } catch (error) {
          signal.throwIfAborted();
          const reason = failed ?? error;
          if (reason instanceof MillraceError) throw reason;
          throw new Passing(
            'HUB',
            `the Hub at ${this.url} cannot be reached (${whyNot(reason)}): check the network, or set HF_ENDPOINT to a mirror of the Hub`,
          );
        }
      },
    };
  }

  async #refused(reply: Response): Promise<MillraceError> {
    const { model, revision } = this.#name;
    const body = await reply.text().catch(() => '');
    const said = outsideText(reply.headers.get('x-error-message') ?? '') || saidIn(body);
    const page = `${this.url}/${model}`;
    const { status } = reply;
    const why = reply.headers.get('x-error-code');
    if (why === 'GatedRepo') {
      return new MillraceError(
        'HUB',
        this.#token === ''
          ? `${model} is gated: ask for access on ${page}, and put your token into HF_TOKEN`
          : `${model} is gated, and the account of the token in HF_TOKEN has no access: ask for it on ${page}`,
      );
    }
    if (why === 'RevisionNotFound') {
      return new MillraceError(
        'HUB',
        `${model} has no revision ${revision}: see ${page}/tree/main for its branches and tags`,
      );
    }
    if (status === 401 || status === 403) {
      return new MillraceError(
        'HUB',
        this.#token === ''
          ? `there is no public model ${model} at ${this.url}: check the name; for a private one put your token into HF_TOKEN`
          : `${this.url} refuses the token in HF_TOKEN for ${model} (${status}: ${said}): check the name and what the token may read`,
      );
    }
    if (status === 404)
      return new MillraceError('HUB', `there is no model ${model} at ${this.url}: check the name`);
    const passes = status === 429 || status >= 500;
    const text = `${this.url} answered ${status} (${said}): ${passes ? 'repeat the command later; it resumes the download' : 'is it a Hugging Face Hub?'}`;
    return passes ? new Passing('HUB', text) : new MillraceError('HUB', text);
  }
}

/** Any model has far fewer. */
const FILES_MAX = 100_000;
const TOO_MANY = `the Hub lists more than ${FILES_MAX} files: is it a model?`;

function whyNot(error: unknown): string {
  const { cause } = (error ?? {}) as { readonly cause?: unknown };
  return outsideText(messageOf(cause ?? error));
}
