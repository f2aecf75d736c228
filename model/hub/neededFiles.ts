/**
 * Which of a model's files a policy or an encoder needs: configuration, tokenizer, chat templates and weights
 * in safetensors. Weights in other forms, pictures and programs stay where they are.
 */
import { MillraceError } from '../../base/index.ts';

/** A file as the Hub lists it. */
export interface HubFile {
  /** In the model. */
  readonly path: string;
  readonly bytes: number;
  /** Its name in the cache: its SHA-256 if the Hub stores it by LFS, otherwise git's SHA-1. */
  readonly digest: string;
}

/** Names that cannot leave a folder. */
const BESIDE_WEIGHTS =
  /^(?:[\w][\w.-]*\.json|(?:merges|vocab)\.txt|tokenizer\.model|chat_template\.jinja|additional_chat_templates\/[\w][\w.-]*\.jinja|1_Pooling\/config\.json)$/;
const INDEX = 'model.safetensors.index.json';
const SHARD = /^model[\w.-]*-\d+-of-\d+\.safetensors$/;
const DIGEST = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Fails with code `HUB` if it has no readable weights. */
export function neededFiles(model: string, all: readonly HubFile[]): readonly HubFile[] {
  const names = new Set(all.map(({ path }) => path));
  const isWeights = names.has(INDEX)
    ? (path: string) => SHARD.test(path)
    : (path: string) => path === ONE_FILE;
  const weights = all.filter(({ path }) => isWeights(path));
  const adapter = all.filter(({ path }) => path === ADAPTER);
  const found = weights.length > 0 ? weights : adapter;
  if (found.length === 0) throw noWeights(model, [...names]);
  const needed = [...all.filter(({ path }) => BESIDE_WEIGHTS.test(path)), ...found];
  for (const { path, bytes, digest } of needed) {
    if (DIGEST.test(digest) && Number.isSafeInteger(bytes) && bytes >= 0) continue;
    throw new MillraceError(
      'HUB',
      `the Hub lists ${model}/${path} without a usable size or digest`,
    );
  }
  return needed;
}

const ONE_FILE = 'model.safetensors';
const ADAPTER = 'adapter_model.safetensors';

function noWeights(model: string, names: readonly string[]): MillraceError {
  const gguf = names.find((name) => name.endsWith('.gguf'));
  const pickled = names.find((name) => /\.(?:bin|pth?)$/.test(name));
  const instead =
    gguf !== undefined
      ? `it has GGUF files; download one and use millrace model convert FILE.gguf FOLDER`
      : pickled !== undefined
        ? `its ${pickled.slice(0, 100)} is not supported; save the model as safetensors with transformers`
        : 'is it a model?';
  return new MillraceError('HUB', `${model} has no safetensors weights: ${instead}`);
}
