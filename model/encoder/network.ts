/**
 * The network of an encoder's folder, in a session: from its safetensors with our own graph, or, if it is of
 * another kind or there are none, from `onnx/model.onnx`.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { MillraceError } from '../../base/index.ts';
import { checkpointError, shapeText } from '../hf/checkpointError.ts';
import { WEIGHTS_FILE } from '../hf/folderFiles.ts';
import { openTensorFile, type TensorFile } from '../hf/tensorFile.ts';
import { openSession } from '../runtime/session.ts';
import { type EncoderConfig, encoderShapes, positionsFor } from './encoderConfig.ts';
import { BLOCK, blockOf, encoderGraph } from './encoderGraph.ts';

/** Tokens of several texts, each padded to `width`. */
export interface TokenBatch {
  readonly rows: readonly (readonly number[])[];
  readonly width: number;
}

export interface Network {
  /** What the vectors are computed from, for the encoder's digest. */
  readonly files: readonly string[];
  /** Limit of tokens per text; null if the file does not say. */
  readonly tokensMax: number | null;
  /** [rows, width, size]. */
  run(batch: TokenBatch): Promise<{ readonly data: Float32Array; readonly size: number }>;
}

const ONNX_FILE = 'onnx/model.onnx';

export async function openNetwork(
  folder: string,
  config: EncoderConfig | null,
  kind: string,
  threads: number,
): Promise<Network> {
  if (config !== null && (await isThere(join(folder, WEIGHTS_FILE))))
    return ownNetwork(join(folder, WEIGHTS_FILE), config, threads);
  if (await isThere(join(folder, ONNX_FILE))) return onnxNetwork(join(folder, ONNX_FILE), threads);
  if (config !== null)
    throw checkpointError(
      `${folder} has neither ${WEIGHTS_FILE} nor ${ONNX_FILE}: save the model as safetensors`,
      { file: folder },
    );
  throw new MillraceError(
    'MODEL_CONFIG',
    `${join(folder, 'config.json')}: model_type '${kind}' is not implemented (bert, roberta and xlm-roberta are): ` +
      `export the model to ${ONNX_FILE} in its folder to use it`,
    { context: { file: folder, kind } },
  );
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isFile(),
    () => false,
  );
}

async function ownNetwork(path: string, config: EncoderConfig, threads: number): Promise<Network> {
  const model = encoderGraph(config);
  // Whole numbers that old versions wrote with the weights.
  const file = await openTensorFile(path, (name) => name.endsWith('position_ids'));
  const data = await readBlock(file, config).finally(() => file.close());
  const session = await openSession(model, { threads, external: [{ location: BLOCK, data }] });
  const { padToken, firstPosition } = config;
  return {
    files: [path],
    tokensMax: positionsFor(config),
    async run({ rows, width }) {
      const tokens = new Int32Array(rows.length * width).fill(padToken);
      const mask = new Float32Array(rows.length * width).fill(Number.NEGATIVE_INFINITY);
      for (const [i, row] of rows.entries()) {
        tokens.set(row, i * width);
        mask.fill(0, i * width, i * width + row.length);
      }
      const places = tokens.map((_, i) => firstPosition + (i % width));
      const shape = [rows.length, width];
      const { hidden } = await session.run({
        tokens: { shape, data: tokens },
        places: { shape, data: places },
        mask: { shape: [rows.length, 1, 1, width], data: mask },
      });
      return { data: hidden?.data as Float32Array, size: config.hiddenSize };
    },
  };
}

/**
 * Every parameter where the graph looks for it. A text is of the first kind throughout, which goes into its
 * positions.
 */
async function readBlock(file: TensorFile, config: EncoderConfig): Promise<Uint8Array> {
  const { places, length } = blockOf(config);
  const block = new Float32Array(length);
  const named = namesIn(file);
  for (const [name, shape] of encoderShapes(config)) {
    const { data } = await readParameter(file, named(name), shape);
    block.set(data, places.get(name));
  }
  const kinds = named('embeddings.token_type_embeddings.weight');
  if (file.tensors.has(kinds)) {
    const { data } = await file.read(kinds);
    const start = places.get('embeddings.position_embeddings.weight') as number;
    for (let i = 0; i < config.positions * config.hiddenSize; i++)
      block[start + i]! += data[i % config.hiddenSize]!;
  }
  return new Uint8Array(block.buffer);
}

/**
 * Names as in the file: heads for other tasks prefix the network's name, and TensorFlow named norms
 * differently.
 */
function namesIn(file: TensorFile): (name: string) => string {
  const first = [...file.tensors.keys()].find((name) => name.endsWith('word_embeddings.weight'));
  const prefix = first?.slice(0, first.indexOf('embeddings.')) ?? '';
  const old = file.tensors.has(`${prefix}embeddings.LayerNorm.gamma`);
  return (name) => {
    const [weight, bias] = ['LayerNorm.weight', 'LayerNorm.bias'];
    if (!old) return prefix + name;
    return prefix + name.replace(weight, 'LayerNorm.gamma').replace(bias, 'LayerNorm.beta');
  };
}

async function readParameter(file: TensorFile, name: string, shape: readonly number[]) {
  const found = file.tensors.get(name);
  if (found?.shape.join() === shape.join()) return file.read(name);
  throw checkpointError(
    `${file.path}: tensor '${name}' should be ${shapeText(shape)}, but the file has ${shapeText(found?.shape)}: ` +
      'configuration and weights do not match',
    { file: file.path, tensor: name, expected: shape, found: found?.shape },
  );
}

/**
 * A model in the form that exporters write: `input_ids`, `attention_mask` and perhaps `token_type_ids` in,
 * the last layer first among the outputs.
 */
async function onnxNetwork(path: string, threads: number): Promise<Network> {
  const session = await InferenceSession.create(path, {
    executionProviders: ['cpu'],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 4,
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  }).catch((cause: unknown) => {
    throw checkpointError(
      `${path} cannot be opened as an ONNX model: copy it again`,
      { file: path },
      cause,
    );
  });
  const known = ['input_ids', 'attention_mask', 'token_type_ids'];
  const alien = session.inputNames.find((name) => !known.includes(name));
  if (alien !== undefined)
    throw checkpointError(
      `${path} requires the input '${alien}', which no text encoder has: export it for feature extraction`,
      { file: path },
    );
  return {
    files: [path],
    tokensMax: null,
    async run({ rows, width }) {
      const values = {
        input_ids: new BigInt64Array(rows.length * width),
        attention_mask: new BigInt64Array(rows.length * width),
        token_type_ids: new BigInt64Array(rows.length * width),
      };
      for (const [i, row] of rows.entries()) {
        values.input_ids.set(row.map(BigInt), i * width);
        values.attention_mask.fill(1n, i * width, i * width + row.length);
      }
      const feeds = session.inputNames.map((name) => [
        name,
        new Tensor('int64', values[name as keyof typeof values], [rows.length, width]),
      ]);
      const results = await session.run(Object.fromEntries(feeds));
      const hidden = results.last_hidden_state ?? results[session.outputNames[0] as string];
      if (hidden?.dims.length !== 3 || !(hidden.data instanceof Float32Array))
        throw checkpointError(
          `${path} has no float32 output of token vectors (last_hidden_state): export it for feature extraction`,
          { file: path },
        );
      return { data: hidden.data, size: hidden.dims[2] as number };
    },
  };
}
