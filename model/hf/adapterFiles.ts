/**
 * LoRA adapters on disk, in the layout of PEFT: a folder with `adapter_config.json` and
 * `adapter_model.safetensors`, whose tensors are named `base_model.model.<module>.lora_A.weight` and
 * `.lora_B.weight`.
 *
 * What would change the sum and is not implemented (DoRA, trained biases, whole modules, embeddings) is
 * refused, never ignored.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { MillraceError, outsideText, withinDeadline } from '../../base/index.ts';
import type { Tensor } from '../config.ts';
import { checkpointError, shapeText } from './checkpointError.ts';
import type { Dtype } from './dtypes.ts';
import { ADAPTER_CONFIG, ADAPTER_WEIGHTS, digestOf } from './folderFiles.ts';
import { type LoraAdapter, type LoraFactors, loraScale } from './lora.ts';
import { newFolder } from './newFolder.ts';
import { readJson } from './readJson.ts';
import { openTensorFile, type TensorFile } from './tensorFile.ts';
import { writeJson } from './writeFolder.ts';
import { type WrittenFile, writeTensorFile } from './writeTensorFile.ts';

/** Entries; a large model has a few hundred modules with an adapter. */
const PATTERNS_MAX = 10_000;
const PATTERN_CHARACTERS_MAX = 1_000;

const pattern = z
  .record(z.string(), z.number().positive())
  .superRefine((map, context) => {
    const keys = Object.keys(map);
    if (keys.length > PATTERNS_MAX) context.addIssue(`more than ${PATTERNS_MAX} entries`);
    const odd = keys.slice(0, PATTERNS_MAX).find((key) => !isRegExp(key));
    if (odd !== undefined)
      context.addIssue({
        code: 'custom',
        path: [odd],
        message: 'it is not a valid regular expression',
      });
  })
  .nullish();

function isRegExp(text: string): boolean {
  // a longer one is not a module's name, and a deeply nested one would crash the process that compiles it
  if (text.length > PATTERN_CHARACTERS_MAX) return false;
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}

const configFile = z.looseObject({
  peft_type: z.string(),
  r: z.number().int().positive(),
  lora_alpha: z.number(),
  use_rslora: z.boolean().nullish(),
  use_dora: z.boolean().nullish(),
  fan_in_fan_out: z.boolean().nullish(),
  bias: z.string().nullish(),
  lora_bias: z.boolean().nullish(),
  modules_to_save: z.array(z.string()).nullish(),
  base_model_name_or_path: z.string().nullish(),
  rank_pattern: pattern,
  alpha_pattern: pattern,
});
type ConfigFile = z.infer<typeof configFile>;

function unsupported(config: ConfigFile): string | null {
  if (config.peft_type !== 'LORA')
    return `peft_type is ${config.peft_type}; only LORA is supported`;
  if (config.use_dora) return 'use_dora is set; only plain LoRA is supported';
  if (config.fan_in_fan_out) return 'fan_in_fan_out is set; only [out, in] weights are supported';
  if (config.bias != null && config.bias !== 'none')
    return `bias is '${config.bias}'; only none is supported`;
  if (config.lora_bias) return 'lora_bias is set; only adapters without biases are supported';
  if (config.modules_to_save != null && config.modules_to_save.length > 0)
    return `modules_to_save is ${config.modules_to_save.join(', ')}; merge them with PEFT first`;
  return null;
}

const NAME = /^base_model\.model\.(.+)\.lora_(A|B)(?:\.default)?\.weight$/;

/** Read an adapter whole; it is small. Rejects with `MODEL_CONFIG` or `CHECKPOINT`. */
export async function readAdapter(folder: string): Promise<LoraAdapter> {
  const path = join(folder, ADAPTER_CONFIG);
  const parsed = configFile.safeParse(await readJson(path));
  const refuse = (what: string) =>
    new MillraceError('MODEL_CONFIG', `${path}: ${what}`, { context: { file: path } });
  if (!parsed.success) {
    const [{ path: field, message }] = parsed.error.issues as [z.core.$ZodIssue];
    throw refuse(`${outsideText(field.join('.'), 100)}: ${message}`);
  }
  const problem = unsupported(parsed.data);
  if (problem !== null) throw refuse(problem);
  const config = parsed.data;
  const file = await openTensorFile(join(folder, ADAPTER_WEIGHTS));
  try {
    return {
      rank: config.r,
      alpha: config.lora_alpha,
      stabilised: config.use_rslora ?? false,
      base: config.base_model_name_or_path ?? '',
      modules: await readModules(file, config),
    };
  } finally {
    await file.close();
  }
}

async function readModules(
  file: TensorFile,
  config: ConfigFile,
): Promise<ReadonlyMap<string, LoraFactors>> {
  const halves = new Map<string, { A?: Tensor; B?: Tensor }>();
  for (const name of file.tensors.keys()) {
    const [, module, half] = NAME.exec(name) ?? [];
    if (module === undefined)
      throw checkpointError(
        `${file.path}: tensor '${name}' does not belong to a LoRA adapter of linear layers: merge it with PEFT first`,
        { file: file.path, tensor: name },
      );
    halves.set(module, { ...halves.get(module), [half as 'A' | 'B']: await file.read(name) });
  }
  return withinDeadline(
    () => modulesOf(file, config, halves),
    () =>
      checkpointError(
        `${file.path}: rank_pattern and alpha_pattern in ${ADAPTER_CONFIG} take too long to match`,
        { file: file.path },
      ),
  );
}

type Halves = ReadonlyMap<string, { readonly A?: Tensor; readonly B?: Tensor }>;

function modulesOf(
  file: TensorFile,
  config: ConfigFile,
  halves: Halves,
): ReadonlyMap<string, LoraFactors> {
  const modules = new Map<string, LoraFactors>();
  for (const [module, { A: a, B: b }] of halves) {
    const rank = a?.shape[0];
    if (a?.shape.length !== 2 || b?.shape.length !== 2 || b.shape[1] !== rank)
      throw checkpointError(
        `${file.path}: '${module}' has lora_A ${shapeText(a?.shape)} and lora_B ${shapeText(b?.shape)}, which cannot be multiplied`,
        { file: file.path, tensor: module, expected: a?.shape, found: b?.shape },
      );
    const expected = matched(config.rank_pattern, module) ?? config.r;
    if (rank !== expected)
      throw checkpointError(
        `${file.path}: '${module}' has rank ${rank} where ${ADAPTER_CONFIG} says ${expected}`,
        { file: file.path, tensor: module, expected, found: rank },
      );
    const alpha = matched(config.alpha_pattern, module) ?? config.lora_alpha;
    modules.set(module, { a, b, scale: loraScale(expected, alpha, config.use_rslora ?? false) });
  }
  return modules;
}

/**
 * PEFT's rule: the first key that, as a regular expression, matches the module's name from a dot to its end.
 */
function matched(
  patterns: Readonly<Record<string, number>> | null | undefined,
  module: string,
): number | null {
  for (const [key, value] of Object.entries(patterns ?? {}))
    if (new RegExp(`^(.*\\.)?(${key})$`).test(module)) return value;
  return null;
}

/**
 * Write an adapter as a folder that PEFT, vLLM and SGLang load; it is there whole or not at all and is never
 * written over. The digest is that of `digestOf` over its two files.
 */
export async function writeAdapter(
  folder: string,
  adapter: LoraAdapter,
  dtype: Dtype = 'F32',
): Promise<WrittenFile> {
  return newFolder(folder, async (temporary) => {
    const config = await writeJson(join(temporary, ADAPTER_CONFIG), configOf(adapter));
    const tensors = new Map<string, Tensor>();
    for (const [module, { a, b }] of adapter.modules) {
      tensors.set(`base_model.model.${module}.lora_A.weight`, a);
      tensors.set(`base_model.model.${module}.lora_B.weight`, b);
    }
    const entries = [...tensors].map(([name, { shape }]) => ({ name, shape, dtype }));
    const path = join(temporary, ADAPTER_WEIGHTS);
    const read = (name: string) => tensors.get(name)!;
    const weights = await writeTensorFile(path, entries, read, { format: 'pt' });
    const digests = new Map([
      [ADAPTER_CONFIG, config],
      [ADAPTER_WEIGHTS, weights.sha256],
    ]);
    return { sha256: digestOf(digests), bytes: weights.bytes };
  });
}

/** Modules whose rank or scale is not the adapter's own are listed by name, as PEFT lists them. */
function configOf({ rank, alpha, stabilised, base, modules }: LoraAdapter): unknown {
  const ranks: Record<string, number> = {};
  const alphas: Record<string, number> = {};
  for (const [module, { a, scale }] of modules) {
    const own = a.shape[0]!;
    const ownAlpha = scale / loraScale(own, 1, stabilised);
    const key = module.replaceAll('.', '\\.');
    if (own !== rank) ranks[key] = own;
    if (Math.abs(ownAlpha - alpha) > 1e-9 * alpha) alphas[key] = ownAlpha;
  }
  return {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: base === '' ? null : base,
    r: rank,
    lora_alpha: alpha,
    lora_dropout: 0,
    use_rslora: stabilised,
    target_modules: [...new Set([...modules.keys()].map((module) => module.split('.').at(-1)))],
    rank_pattern: ranks,
    alpha_pattern: alphas,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
  };
}
