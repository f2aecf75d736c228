/**
 * `config.json` of a BERT-like encoder: BERT, RoBERTa and XLM-RoBERTa, on which E5 and BGE are based.
 *
 * They are one network and differ in where positions begin.
 */
import { z } from 'zod';
import { MillraceError } from '../../base/index.ts';

export interface EncoderConfig {
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly intermediateSize: number;
  /** As ONNX calls it: with the error function, or near it by a tanh. */
  readonly activation: 'gelu' | 'geluTanh' | 'relu';
  readonly normEps: number;
  /** Rows of the table of positions. */
  readonly positions: number;
  /** The row of a text's first token. */
  readonly firstPosition: number;
  readonly padToken: number;
}

const size = z.number().int().positive();

const file = z.looseObject({
  model_type: z.string(),
  vocab_size: size,
  hidden_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  intermediate_size: size,
  hidden_act: z.string().default('gelu'),
  layer_norm_eps: z.number().positive().default(1e-12),
  max_position_embeddings: size,
  pad_token_id: z.number().int().nonnegative().nullish(),
  position_embedding_type: z.string().nullish(),
  is_decoder: z.boolean().nullish(),
});

/** Whether positions begin after the padding token's. */
const FAMILIES: Readonly<Record<string, boolean>> = {
  bert: false,
  roberta: true,
  'xlm-roberta': true,
  camembert: true,
};

const ACTIVATIONS: Readonly<Record<string, EncoderConfig['activation']>> = {
  gelu: 'gelu',
  gelu_new: 'geluTanh',
  gelu_pytorch_tanh: 'geluTanh',
  relu: 'relu',
};

function refuse(path: string, what: string): MillraceError<'MODEL_CONFIG'> {
  return new MillraceError('MODEL_CONFIG', `${path}: ${what}`, { context: { file: path } });
}

/** The configuration in the parsed file; null for a network of another kind. Throws `MODEL_CONFIG`. */
export function readEncoderConfig(path: string, json: unknown): EncoderConfig | null {
  const kind = (json as { model_type?: unknown } | null)?.model_type;
  if (typeof kind === 'string' && !(kind in FAMILIES)) return null;
  const parsed = file.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues as [z.core.$ZodIssue];
    throw refuse(path, `${issue.path.join('.') || 'it'}: ${issue.message}`);
  }
  const it = parsed.data;
  const activation = ACTIVATIONS[it.hidden_act];
  if (activation === undefined)
    throw refuse(path, `hidden_act '${it.hidden_act}' is not implemented`);
  if ((it.position_embedding_type ?? 'absolute') !== 'absolute')
    throw refuse(
      path,
      `position_embedding_type '${it.position_embedding_type}' is not implemented`,
    );
  if (it.is_decoder === true)
    throw refuse(path, 'is_decoder is set: a decoder cannot encode texts');
  if (it.hidden_size % it.num_attention_heads !== 0)
    throw refuse(path, 'hidden_size must be a multiple of num_attention_heads');
  const behind = FAMILIES[it.model_type] === true;
  const padToken = it.pad_token_id ?? (behind ? 1 : 0);
  return {
    vocabSize: it.vocab_size,
    hiddenSize: it.hidden_size,
    layers: it.num_hidden_layers,
    heads: it.num_attention_heads,
    intermediateSize: it.intermediate_size,
    activation,
    normEps: it.layer_norm_eps,
    positions: it.max_position_embeddings,
    firstPosition: behind ? padToken + 1 : 0,
    padToken,
  };
}

/** Limit of tokens per text. */
export function positionsFor({ positions, firstPosition }: EncoderConfig): number {
  return positions - firstPosition;
}

/**
 * Every parameter by its name in a checkpoint of the bare network, with its shape. The table of kinds has
 * rows of its own.
 */
export function encoderShapes(config: EncoderConfig): ReadonlyMap<string, readonly number[]> {
  const { vocabSize, hiddenSize: h, intermediateSize: inner, positions, layers } = config;
  const norm = (name: string): [string, number[]][] => [
    [`${name}.weight`, [h]],
    [`${name}.bias`, [h]],
  ];
  const linear = (name: string, out: number, width: number): [string, number[]][] => [
    [`${name}.weight`, [out, width]],
    [`${name}.bias`, [out]],
  ];
  const layer = (index: number): [string, number[]][] => {
    const at = `encoder.layer.${index}`;
    return [
      ...linear(`${at}.attention.self.query`, h, h),
      ...linear(`${at}.attention.self.key`, h, h),
      ...linear(`${at}.attention.self.value`, h, h),
      ...linear(`${at}.attention.output.dense`, h, h),
      ...norm(`${at}.attention.output.LayerNorm`),
      ...linear(`${at}.intermediate.dense`, inner, h),
      ...linear(`${at}.output.dense`, h, inner),
      ...norm(`${at}.output.LayerNorm`),
    ];
  };
  return new Map([
    ['embeddings.word_embeddings.weight', [vocabSize, h]],
    ['embeddings.position_embeddings.weight', [positions, h]],
    ...norm('embeddings.LayerNorm'),
    ...Array.from({ length: layers }, (_, index) => layer(index)).flat(),
  ]);
}
