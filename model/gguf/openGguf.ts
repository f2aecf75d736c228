/**
 * A GGUF file as a policy: its configuration, its parameters under their Hugging Face names, and the files of
 * its tokenizer.
 *
 * Quantised tensors are those that transformers' own loader makes of them, bit for bit. Their format is
 * float32, which alone holds them exactly; unquantised ones keep their own.
 */
import { outsideText } from '../../base/index.ts';
import type { DecoderConfig } from '../config.ts';
import { checkpointError } from '../hf/checkpointError.ts';
import { checkParameters } from '../hf/parameters.ts';
import type { TensorSource } from '../hf/tensorSource.ts';
import { type GgufFile, type GgufTensor, openGgufFile } from './ggufFile.ts';
import { llama3Scaling } from './llama3Scaling.ts';
import { networkOf, type Parameter, parameterOf, ROPE_FACTORS, ungrouped } from './network.ts';
import { sideFiles } from './sideFiles.ts';

export interface OpenGguf extends TensorSource {
  readonly config: DecoderConfig;
  /**
   * What else a Hugging Face folder has, by name: the tokenizer with its chat template (not `withTokenizer`:
   * false), generation settings, and the token ids of `config.json`. Throws `TOKENIZER`.
   */
  sideFiles(withTokenizer: boolean): ReadonlyMap<string, unknown>;
}

/** Rejects with `CHECKPOINT` or `MODEL_CONFIG` if the file is not a whole policy of a known kind. */
export async function openGguf(path: string): Promise<OpenGguf> {
  const file = await openGgufFile(path);
  try {
    const config = await configOf(file);
    const source = sourceOf(file, config);
    checkParameters(path, config, source.tensors);
    const { metadata } = file;
    const side = (withTokenizer: boolean) =>
      sideFiles(path, metadata, config.vocabSize, withTokenizer);
    return { config, ...source, sideFiles: side };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function configOf(file: GgufFile): Promise<DecoderConfig> {
  const config = networkOf(file);
  const factors = file.tensors.get(ROPE_FACTORS);
  if (factors === undefined) return config;
  const { data } = await file.read(factors);
  return { ...config, ropeScaling: llama3Scaling(file.path, config, data) };
}

function sourceOf(file: GgufFile, config: DecoderConfig): TensorSource {
  const places = new Map<string, { tensor: GgufTensor; parameter: Parameter }>();
  for (const tensor of file.tensors.values()) {
    if (tensor.name === ROPE_FACTORS) continue;
    const parameter = parameterOf(tensor.name, config);
    if (parameter === null)
      throw checkpointError(
        `${file.path}: tensor '${outsideText(tensor.name, 100)}' is not a parameter of a ${config.architecture}`,
        { file: file.path, tensor: tensor.name },
      );
    places.set(parameter.name, { tensor, parameter });
  }
  const infos = [...places].map(([name, { tensor }]) => {
    const { shape, bytes, type } = tensor;
    return [name, { shape, bytes, dtype: type.dtype }] as const;
  });
  return {
    tensors: new Map(infos),
    async read(name) {
      const place = places.get(name);
      if (place === undefined)
        throw checkpointError(`${file.path} has no tensor '${name}'`, {
          file: file.path,
          tensor: name,
        });
      const { shape, data } = await file.read(place.tensor);
      const { heads } = place.parameter;
      return { shape, data: heads === undefined ? data : ungrouped(data, shape[0]!, heads) };
    },
    close: () => file.close(),
  };
}
