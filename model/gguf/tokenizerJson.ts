/**
 * The `tokenizer.json` of a GGUF file: byte-level byte pairs (`gpt2`) or SentencePiece's kind (`llama`).
 *
 * Control tokens become special tokens, user-defined ones added tokens. If the file says so, or its models
 * usually do, transformers and servers begin a text with the start token.
 */
import { outsideText } from '../../base/index.ts';
import { byteLevel } from './byteLevel.ts';
import type { Metadata } from './ggufFile.ts';
import { sentencePiece } from './sentencePiece.ts';
import {
  CONTROL,
  refuse,
  UNKNOWN,
  USER_DEFINED,
  type Vocabulary,
  vocabularyOf,
} from './vocabulary.ts';

/** By `tokenizer.ggml.model`. */
const kinds: Readonly<Record<string, typeof byteLevel | typeof sentencePiece>> = {
  gpt2: byteLevel,
  llama: sentencePiece,
};

/** Throws `TOKENIZER`. */
export function tokenizerJson(path: string, metadata: Metadata, vocabSize: number): unknown {
  const model = metadata.get('tokenizer.ggml.model');
  const vocabulary = vocabularyOf(path, metadata, vocabSize);
  const kind = typeof model === 'string' && Object.hasOwn(kinds, model) ? kinds[model] : undefined;
  if (kind === undefined)
    throw refuse(
      path,
      `its tokenizer is of the kind ${outsideText(String(model))}; supported are gpt2 and llama`,
    );
  const { bos, ...rest } = kind(path, metadata, vocabulary);
  const added = addedTokens(vocabulary);
  const begins = metadata.get('tokenizer.ggml.add_bos_token') ?? bos;
  const start = vocabulary.tokens[Number(metadata.get('tokenizer.ggml.bos_token_id'))];
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    ...rest,
    post_processor:
      begins === true && start !== undefined ? beginningWith(start, vocabulary.tokens) : null,
  };
}

function addedTokens({ tokens, kinds }: Vocabulary): readonly unknown[] {
  return tokens.flatMap((content, id) => {
    const special = kinds[id] === CONTROL || kinds[id] === UNKNOWN;
    if (content === '' || !(special || kinds[id] === USER_DEFINED)) return [];
    const how = { single_word: false, lstrip: false, rstrip: false, normalized: false };
    return [{ id, content, ...how, special }];
  });
}

function beginningWith(token: string, tokens: readonly string[]): unknown {
  const first = { SpecialToken: { id: token, type_id: 0 } };
  const text = (id: 'A' | 'B', type_id: number) => ({ Sequence: { id, type_id } });
  return {
    type: 'TemplateProcessing',
    single: [first, text('A', 0)],
    pair: [first, text('A', 0), { SpecialToken: { id: token, type_id: 1 } }, text('B', 1)],
    special_tokens: { [token]: { id: token, ids: [tokens.indexOf(token)], tokens: [token] } },
  };
}
