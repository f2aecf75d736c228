/**
 * Texts as tokens for an encoder, by the folder's `tokenizer.json` (WordPiece, SentencePiece's unigrams, byte
 * pairs): with the tokens that begin and end a text, cut in the middle of neither.
 */
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { MillraceError, messageOf } from '../../base/index.ts';
import { readJson } from '../hf/readJson.ts';

export interface TextTokens {
  /** At most `max` tokens, including those that begin and end a text. */
  encode(text: string, max: number): readonly number[];
}

/** Limit of a text's length relative to its tokens; the rest is ignored. */
const CHARACTERS_PER_TOKEN = 100;

/** Rejects with `TOKENIZER`, or with `CHECKPOINT` if there is none. */
export async function openTextTokens(folder: string): Promise<TextTokens> {
  const path = join(folder, 'tokenizer.json');
  const json = await readJson(path);
  const config = await readJson(join(folder, 'tokenizer_config.json')).catch(() => ({}));
  try {
    const tokenizer = new Tokenizer(json as object, config as object);
    const run = (text: string): number[] => tokenizer.encode(text).ids;
    const ending = endingOf(run(''), run('a'));
    return {
      encode(text, max) {
        const ids = run(text.slice(0, max * CHARACTERS_PER_TOKEN));
        if (ids.length <= max) return ids;
        return [...ids.slice(0, max - ending.length), ...ending];
      },
    };
  } catch (cause) {
    throw new MillraceError(
      'TOKENIZER',
      `${path} is not a readable tokenizer (${messageOf(cause)})`,
      { context: { file: path }, cause },
    );
  }
}

/** The tokens that end every text: those of the empty one that no other text begins with. */
function endingOf(empty: readonly number[], other: readonly number[]): readonly number[] {
  let begin = 0;
  while (begin < empty.length && empty[begin] === other[begin]) begin++;
  return empty.slice(begin);
}
