/** Random checkpoints of large shapes: Python makes them in seconds, where ours takes a minute for 0.5B. */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SHAPES, type ShapeName } from '../model/shapes.ts';

const env = { ...process.env, HF_HUB_OFFLINE: '1' };

/** Its folder under `folder`, shaped like a Qwen2; or why there is none. */
export function checkpoint(
  shape: ShapeName,
  { python, folder }: { readonly python: string; readonly folder: string },
): { readonly path: string } | { readonly reason: string } {
  const path = join(folder, `random-${shape}`);
  if (existsSync(path)) return { path };
  const config = SHAPES[shape];
  const settings = {
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    rope_theta: config.ropeTheta,
    rms_norm_eps: config.rmsEps,
    tie_word_embeddings: config.tiedEmbeddings,
    max_position_embeddings: 32_768,
    ...{ bos_token_id: null, eos_token_id: null, pad_token_id: null },
  };
  const args = ['bench/gpu/checkpoint.py', path, JSON.stringify(settings)];
  const made = spawnSync(python, args, { encoding: 'utf8', env });
  if (made.status === 0) return { path };
  rmSync(path, { recursive: true, force: true });
  return { reason: made.stderr.trim().split('\n').at(-1) ?? '' };
}
