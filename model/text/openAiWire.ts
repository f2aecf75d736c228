/**
 * Requests and replies of OpenAI-compatible servers, as plain data.
 *
 * How servers differ, and what is done about it:
 * - *Defaults.* vLLM and SGLang fill in what a request leaves out from the model's `generation_config.json`
 *   (top-p, top-k, a repetition penalty). Every sampling parameter is sent, neutral ones too.
 * - *Stop strings.* They are kept on request only: `include_stop_str_in_output` (vLLM), `no_stop_trim`
 *   (SGLang). A server that trims them all the same names the one it met (`stop_reason`, `matched_stop`); it
 *   is put back. Other servers do neither, so they are sent no stop strings and the text is cut here, which
 *   costs tokens and nothing else.
 * - *BOS.* vLLM puts special tokens before a text prompt, in which a chat template has put them already:
 *   `add_special_tokens: false`. SGLang has no such field: its template must leave BOS out where its
 *   tokenizer adds it.
 * - *Continuing a message.* `continue_final_message` in chat; vLLM then wants `add_generation_prompt: false`.
 *   The template of the server may still trim the message or drop its thinking (Qwen3's does): `completions`
 *   is exact. Other servers get the message and a request to go on, and what they repeat of it is cut off.
 * - *Aborted.* A server that is paused or restarted may answer 200 with `finish_reason: 'abort'` and half a
 *   text.
 */
import { MillraceError } from '../../base/index.ts';
import { type ServerName, serverWires, textServers } from '../remote/wires/wires.ts';
import { shapedBy } from '../sampling.ts';
import type { TextExtensions } from './textExtensions.ts';
import type { TextRequest } from './textModel.ts';

/** Whose extensions of the OpenAI protocol may be used; `openai` = none. */
export type TextServer = ServerName | 'openai';

export interface Wire {
  readonly server: TextServer;
  readonly model: string;
}

export type Body = Readonly<Record<string, unknown>>;

export const GO_ON =
  'Go on exactly where your last message ends. Repeat nothing of it and do not comment.';

/** Body of `/v1/completions`; `prompt` is the templated text up to where the model continues. */
export function completionBody(
  request: TextRequest,
  prompt: string,
  wire: Wire,
  seed: number,
): Body {
  return {
    prompt,
    ...sampling(request, wire, seed),
    ...extensionsOf(wire)?.plainPrompt,
  };
}

/** Body of `/v1/chat/completions`. */
export function chatBody(request: TextRequest, wire: Wire, seed: number): Body {
  const { system, continuation = '' } = request;
  const messages = [
    ...(system === undefined ? [] : [{ role: 'system', content: system }]),
    { role: 'user', content: contentOf(request) },
  ];
  const body = { messages, ...sampling(request, wire, seed) };
  if (continuation === '') return body;
  const begun = { role: 'assistant', content: continuation };
  const extensions = extensionsOf(wire);
  if (extensions === null) {
    return { ...body, messages: [...messages, begun, { role: 'user', content: GO_ON }] };
  }
  return {
    ...body,
    messages: [...messages, begun],
    continue_final_message: true,
    ...extensions.continued,
  };
}

/** A text alone is a string: not all servers accept parts. */
function contentOf({ prompt, images = [] }: TextRequest): unknown {
  if (images.length === 0) return prompt;
  const shown = images.map(({ type, base64 }) => {
    return { type: 'image_url', image_url: { url: `data:${type};base64,${base64}` } };
  });
  return [{ type: 'text', text: prompt }, ...shown];
}

function sampling(request: TextRequest, wire: Wire, seed: number): Body {
  const { maxTokens, temperature, topP = 1, topK = 0, minP = 0, repetitionPenalty = 1 } = request;
  const common = {
    model: wire.model,
    max_tokens: maxTokens,
    temperature,
    top_p: topP,
    seed,
    n: 1,
    stream: false,
  };
  const extensions = extensionsOf(wire);
  if (extensions === null) {
    refuseExtensions(request);
    return common;
  }
  return {
    ...common,
    top_k: topK === 0 ? -1 : topK,
    min_p: minP,
    repetition_penalty: repetitionPenalty,
    stop: request.stop ?? [],
    ...extensions.keptStop,
  };
}

/** Null = none. */
function extensionsOf({ server }: Wire): TextExtensions | null {
  return server === 'openai' ? null : (serverWires[server].text ?? null);
}

function refuseExtensions(request: TextRequest): void {
  const unknown = shapedBy(request).filter((name) => name !== 'topP');
  if (unknown.length === 0) return;
  throw new MillraceError(
    'MODEL_UNSUPPORTED',
    `a plain OpenAI server does not support ${unknown.join(', ')}: leave it out, or set server=${textServers.join(' or server=')}`,
  );
}

interface Choice {
  readonly text?: unknown;
  readonly message?: { readonly content?: unknown };
  readonly finish_reason?: unknown;
  readonly stop_reason?: unknown;
  readonly matched_stop?: unknown;
}

/**
 * The text of a reply, its stop string put back if the server took it away. Throws on a reply of another
 * shape.
 */
export function replyText(body: unknown, request: TextRequest, wire: Wire): string {
  const choice = (body as { choices?: readonly Choice[] } | null)?.choices?.[0];
  if (typeof choice !== 'object' || choice === null) throw new Error('the reply has no choices');
  if (choice.finish_reason === 'abort') throw new Error('the server aborted the request');
  const text = textOf(choice);
  const met = choice.stop_reason ?? choice.matched_stop;
  const trimmed = typeof met === 'string' && request.stop?.includes(met) && !text.endsWith(met);
  const whole = trimmed ? text + met : text;
  return extensionsOf(wire) === null ? withoutRepeated(whole, request.continuation) : whole;
}

/** A chat message is null if the model said nothing (or only thought, and the server cut that out). */
function textOf({ text, message }: Choice): string {
  const written = message === undefined ? text : (message.content ?? '');
  if (typeof written !== 'string') throw new Error('the reply has no text');
  return written;
}

function withoutRepeated(text: string, continuation = ''): string {
  const repeats = continuation.trim() !== '' && text.startsWith(continuation);
  return repeats ? text.slice(continuation.length) : text;
}
