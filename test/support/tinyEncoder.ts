/**
 * A random encoder of a few thousand numbers in a Hugging Face folder: a BERT with WordPiece, or an
 * XLM-RoBERTa with unigrams. The same on every machine (keyed draws).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { draws } from '../../base/draws.ts';
import { encoderShapes, readEncoderConfig } from '../../model/encoder/encoderConfig.ts';
import type { Dtype } from '../../model/hf/dtypes.ts';
import { writeTensorFile } from '../../model/hf/writeTensorFile.ts';

export type Family = 'bert' | 'xlm-roberta';

const WORDS =
  'a mill race is the channel of water that drives wheel who was first to see moon town river lies far from sea and Anna 12 ,'.split(
    ' ',
  );
const PIECES =
  '##s ##ing ##ed ##er b c d e f g h i j k l m n o p q r s t u v w x y z ##a ##b ##c ##d ##e ##f ##g ##h ##i ##j ##k ##l ##m ##n ##o ##p ##q ##r ##t ##u ##v ##w ##x ##y ##z . ? : é 日 本'.split(
    ' ',
  );

const BERT_MARKS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
const XLMR_MARKS = ['<s>', '<pad>', '</s>', '<unk>'];

function wordPiece(): { vocabSize: number; json: unknown } {
  const all = [...BERT_MARKS, ...new Set([...WORDS.map((word) => word.toLowerCase()), ...PIECES])];
  const vocab = Object.fromEntries(all.map((piece, id) => [piece, id]));
  const mark = (id: number, content: string) => ({
    ...{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false },
    special: true,
  });
  const special = (content: string, id: number) => [
    content,
    { id: content, ids: [id], tokens: [content] },
  ];
  return {
    vocabSize: all.length,
    json: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: BERT_MARKS.map((content, id) => mark(id, content)),
      normalizer: {
        ...{ type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true },
        ...{ strip_accents: null, lowercase: true },
      },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      post_processor: {
        type: 'TemplateProcessing',
        single: [
          { SpecialToken: { id: '[CLS]', type_id: 0 } },
          { Sequence: { id: 'A', type_id: 0 } },
          { SpecialToken: { id: '[SEP]', type_id: 0 } },
        ],
        pair: [
          { SpecialToken: { id: '[CLS]', type_id: 0 } },
          { Sequence: { id: 'A', type_id: 0 } },
          { SpecialToken: { id: '[SEP]', type_id: 0 } },
          { Sequence: { id: 'B', type_id: 1 } },
          { SpecialToken: { id: '[SEP]', type_id: 1 } },
        ],
        special_tokens: Object.fromEntries([special('[CLS]', 2), special('[SEP]', 3)]),
      },
      decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
      model: {
        ...{ type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##' },
        ...{ max_input_chars_per_word: 100, vocab },
      },
    },
  };
}

function unigram(): { vocabSize: number; json: unknown } {
  const letters = [...'abcdefghijklmnopqrstuvwxyzA12,.?:é日本▁'];
  const pieces = [...new Set([...WORDS.map((word) => `▁${word}`), 'ing', 'ed', 'er', ...letters])];
  const vocab = [
    ...XLMR_MARKS.map((piece) => [piece, 0]),
    ...pieces.map((piece, i) => [piece, piece.length > 1 ? -3 - i / 100 : -9 - i / 100]),
  ];
  const mark = (id: number, content: string) => ({
    ...{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false },
    special: true,
  });
  const special = (content: string, id: number) => [
    content,
    { id: content, ids: [id], tokens: [content] },
  ];
  return {
    vocabSize: vocab.length,
    json: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: XLMR_MARKS.map((content, id) => mark(id, content)),
      normalizer: { type: 'Sequence', normalizers: [{ type: 'NFKC' }] },
      pre_tokenizer: {
        type: 'Metaspace',
        replacement: '▁',
        add_prefix_space: true,
        prepend_scheme: 'always',
        split: true,
      },
      post_processor: {
        type: 'TemplateProcessing',
        single: [
          { SpecialToken: { id: '<s>', type_id: 0 } },
          { Sequence: { id: 'A', type_id: 0 } },
          { SpecialToken: { id: '</s>', type_id: 0 } },
        ],
        pair: [
          { SpecialToken: { id: '<s>', type_id: 0 } },
          { Sequence: { id: 'A', type_id: 0 } },
          { SpecialToken: { id: '</s>', type_id: 0 } },
          { Sequence: { id: 'B', type_id: 0 } },
          { SpecialToken: { id: '</s>', type_id: 0 } },
        ],
        special_tokens: Object.fromEntries([special('<s>', 0), special('</s>', 2)]),
      },
      decoder: {
        type: 'Metaspace',
        replacement: '▁',
        add_prefix_space: true,
        prepend_scheme: 'always',
        split: true,
      },
      model: { type: 'Unigram', unk_id: 3, vocab, byte_fallback: false },
    },
  };
}

export interface TinyOptions {
  readonly seed?: number;
  readonly dtype?: Dtype;
  /** Before the names of tensors, as heads for other tasks have it: `bert.`. */
  readonly prefix?: string;
  readonly pooling?: 'cls' | 'mean';
  readonly activation?: string;
}

const HIDDEN = 16;
const POSITIONS = 40;

/** Writes the folder and returns its path. */
export async function tinyEncoder(
  folder: string,
  family: Family,
  options: TinyOptions = {},
): Promise<string> {
  const { seed = 7, dtype = 'F32', prefix = '', pooling, activation = 'gelu' } = options;
  const bert = family === 'bert';
  const { vocabSize, json } = bert ? wordPiece() : unigram();
  const config = {
    architectures: [bert ? 'BertModel' : 'XLMRobertaModel'],
    model_type: family,
    vocab_size: vocabSize,
    hidden_size: HIDDEN,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    intermediate_size: 24,
    hidden_act: activation,
    layer_norm_eps: bert ? 1e-12 : 1e-5,
    max_position_embeddings: POSITIONS,
    type_vocab_size: bert ? 2 : 1,
    pad_token_id: bert ? 0 : 1,
    ...(bert ? {} : { bos_token_id: 0, eos_token_id: 2 }),
  };
  const named = bert
    ? {
        pad_token: '[PAD]',
        unk_token: '[UNK]',
        cls_token: '[CLS]',
        sep_token: '[SEP]',
        mask_token: '[MASK]',
      }
    : {
        bos_token: '<s>',
        eos_token: '</s>',
        cls_token: '<s>',
        sep_token: '</s>',
        pad_token: '<pad>',
        unk_token: '<unk>',
      };
  mkdirSync(folder, { recursive: true });
  const put = (name: string, value: unknown) =>
    writeFileSync(join(folder, name), JSON.stringify(value));
  put('config.json', config);
  put('tokenizer.json', json);
  put('tokenizer_config.json', {
    tokenizer_class: 'PreTrainedTokenizerFast',
    model_max_length: 512,
    ...named,
  });
  if (pooling !== undefined) {
    mkdirSync(join(folder, '1_Pooling'), { recursive: true });
    put('1_Pooling/config.json', {
      ...{ word_embedding_dimension: HIDDEN, pooling_mode_max_tokens: false },
      ...{
        pooling_mode_cls_token: pooling === 'cls',
        pooling_mode_mean_tokens: pooling === 'mean',
      },
    });
  }
  const shapes = new Map([
    ...encoderShapes(readEncoderConfig('config.json', config)!),
    ['embeddings.token_type_embeddings.weight', [config.type_vocab_size, HIDDEN]] as const,
  ]);
  const entries = [...shapes].map(([name, shape]) => ({ name: prefix + name, shape, dtype }));
  const read = (name: string) => {
    const shape = shapes.get(name.slice(prefix.length))!;
    const stream = draws('tiny encoder', seed, name.slice(prefix.length));
    const norm = /LayerNorm\.weight$/.test(name) ? 1 : 0;
    const data = Float32Array.from(
      { length: shape.reduce((product, size) => product * size, 1) },
      (_, i) => norm + (stream.uniform(i) - 0.5) * 0.8,
    );
    return { shape, data };
  };
  await writeTensorFile(join(folder, 'model.safetensors'), entries, read, { format: 'pt' });
  return folder;
}

/** What the encoders are compared on. */
export const texts = [
  'A mill race is the channel of water that drives a mill wheel.',
  'Who was the first to see the river?',
  '',
  'Anna walked 12 far, far from the sea and the town and Anna walked 12 far from the sea and the town and the moon: the wheel lies where the water was first seen.',
  'Été à 日本 ❄ unknown',
  'x',
];
