/** What a server has beyond the OpenAI protocol, as fields of a request's body. */
export interface TextExtensions {
  /** The prompt of `/v1/completions` is taken as it is: no special token is put before it. */
  readonly plainPrompt: Readonly<Record<string, unknown>>;
  /** In chat, with `continue_final_message`. */
  readonly continued: Readonly<Record<string, unknown>>;
  /** The stop text that ended a reply is kept in it. */
  readonly keptStop: Readonly<Record<string, unknown>>;
}
