/**
 * A text model on OpenAI-compatible servers: vLLM, SGLang, and others with the same protocol.
 *
 * Several servers of the same model form a pool (`model/remote/serverPool.ts`). A request that no server
 * answers, or that is refused, gives null and a line in `report`; many of those in a row are an error, since
 * a run whose every judgement is missing is worse than one that stops.
 */

import { createHash } from 'node:crypto';
import { draws, MillraceError, type Report } from '../../base/index.ts';
import { type PoolOptions, type PoolResult, ServerPool } from '../remote/serverPool.ts';
import { type Body, chatBody, completionBody, replyText, type TextServer } from './openAiWire.ts';
import { cutAfterStop, type TextModel, type TextRequest } from './textModel.ts';

/** The servers, the name of their model, and which part of the protocol they speak. */
export interface OpenAiOptions extends PoolOptions {
  /** The server's name for it. */
  readonly model: string;
  /** Whose extensions of the protocol may be used. */
  readonly server: TextServer;
  /**
   * `completions` sends text made by `template`, `chat` messages that the server templates. A continuation is
   * exact with `completions` only.
   */
  readonly api: 'completions' | 'chat';
  /** Needed for `completions`: the chat template with its generation prompt, as text. */
  readonly template?: (system: string | undefined, prompt: string) => string;
  /** Further fields of each request's body, for example `chat_template_kwargs`. */
  readonly extra?: Body;
  /** Prints a line for each request without a result. */
  readonly report?: Report;
  /** This many requests in a row without an answer are an error (default 64). */
  readonly failuresMax?: number;
}

const SEEDS = 2 ** 31;

/** Fails with code `USAGE` when a setting is missing or wrong. */
export function openAi(options: OpenAiOptions): TextModel {
  return new OpenAiModel(options);
}

class OpenAiModel implements TextModel {
  readonly #options: OpenAiOptions;
  readonly #pool: ServerPool;
  #failures = 0;

  constructor(options: OpenAiOptions) {
    if (options.model === '') {
      throw new MillraceError(
        'USAGE',
        'a model server is given, but no model: set model to its name on that server',
      );
    }
    if (options.api === 'completions' && options.template === undefined) {
      throw new MillraceError(
        'USAGE',
        'api=completions needs a chat template as text, and this job has none: use api=chat',
      );
    }
    this.#options = options;
    this.#pool = new ServerPool(options);
  }

  async complete(request: TextRequest, signal?: AbortSignal): Promise<string | null> {
    const chat = this.#options.api === 'chat';
    const result = await this.#pool.ask(
      {
        path: chat ? '/v1/chat/completions' : '/v1/completions',
        body: { ...this.#body(request, chat), ...this.#options.extra },
        session: request.session ?? sessionOf(request),
        read: (body) => replyText(body, request, this.#options),
      },
      signal,
    );
    if (result.kind !== 'answer') return this.#gaveUp(request, result);
    this.#failures = 0;
    return cutAfterStop(result.value, request.stop);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #body(request: TextRequest, chat: boolean): Body {
    const { template } = this.#options;
    const { system, prompt, continuation = '' } = request;
    const seed = draws(...request.draws, continuation).integer(0, SEEDS);
    if (chat || template === undefined) return chatBody(request, this.#options, seed);
    return completionBody(request, template(system, prompt) + continuation, this.#options, seed);
  }

  #gaveUp(
    { draws: key }: TextRequest,
    { kind, reason }: Exclude<PoolResult<string>, { kind: 'answer' }>,
  ): null {
    const { model, report, failuresMax = 64 } = this.#options;
    report?.(
      `${model}: no text for ${key.join('/')}: ${kind === 'refused' ? 'refused, ' : ''}${reason}`,
    );
    if (++this.#failures < failuresMax) return null;
    throw new MillraceError(
      'MODEL_DOWN',
      `${this.#failures} requests in a row to ${model} failed; the last: ${reason}. ` +
        'Check the server and start the run again.',
      { context: { model, urls: this.#pool.urls } },
    );
  }
}

/** The reference's session key: the system text and the question. */
function sessionOf({ system = '', prompt }: TextRequest): string {
  return createHash('sha256').update(`${system}\0${prompt}`).digest('base64').slice(0, 22);
}
