/** A server's extensions of the OpenAI protocol, as fields of a request's body. */
export interface TextExtensions {
  /** The prompt of `/v1/completions` is used unchanged: no special token is put before it. */
  readonly plainPrompt: Readonly<Record<string, unknown>>;
  /** In chat, with `continue_final_message`. */
  readonly continued: Readonly<Record<string, unknown>>;
  /** Keeps the stop text that ended a reply. */
  readonly keptStop: Readonly<Record<string, unknown>>;
}
