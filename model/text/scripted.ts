/**
 * A text model that is a function: a critic by rule, or a script for a test.
 */
import { cutAfterStop, type TextModel, type TextRequest } from './textModel.ts';

/** The model's reply; null = it gives up. */
export type Script = (request: TextRequest) => string | null | Promise<string | null>;

/** `reply` as a model. Its text is cut after the first stop string, like any model's. */
export function scripted(reply: Script): TextModel {
  return {
    async complete(request, signal) {
      signal?.throwIfAborted();
      const text = await reply(request);
      signal?.throwIfAborted();
      return text === null ? null : cutAfterStop(text, request.stop);
    },
    close: async () => undefined,
  };
}
