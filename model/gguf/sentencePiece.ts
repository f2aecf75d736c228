/** The parts of a tokenizer of SentencePiece's kind (`llama`: Llama 2, Mistral), with byte fallback. */
import type { Metadata } from './ggufFile.ts';
import { mergesByScore } from './mergesByScore.ts';
import { bpe, isNumbers, mergesIn, refuse, type Vocabulary, vocabOf } from './vocabulary.ts';

/** Of a SentencePiece token; its trainer's own bound is 16. */
const PIECE_MAX = 128;

export function sentencePiece(path: string, metadata: Metadata, { tokens, kinds }: Vocabulary) {
  const given = mergesIn(path, metadata);
  const scores = metadata.get('tokenizer.ggml.scores');
  const scored = isNumbers(scores) && scores.length === tokens.length;
  if (given === null && !scored)
    throw refuse(path, 'it has neither merges nor a score for each token');
  if (tokens.some((token) => token.length > PIECE_MAX))
    throw refuse(path, `it has a token of more than ${PIECE_MAX} characters`);
  const merges = given ?? mergesByScore(tokens, scores as readonly number[]);
  const spaced = metadata.get('tokenizer.ggml.add_space_prefix') !== false;
  const strip = { type: 'Strip', content: ' ', start: 1, stop: 0 };
  return {
    normalizer: null,
    pre_tokenizer: {
      type: 'Metaspace',
      replacement: '▁',
      prepend_scheme: spaced ? 'first' : 'never',
      split: false,
    },
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(spaced ? [strip] : []),
      ],
    },
    model: {
      ...bpe(
        vocabOf(tokens, kinds, (token) => token),
        merges,
      ),
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
    },
    bos: true,
  };
}
