/**
 * `--settings llamafactory:FILE`: a YAML file of LLaMA-Factory's fine-tuning as settings of `sft`. Its
 * batch is that of one device times the accumulation steps; on several devices, set `size` to the product.
 */
import {
  type Dictionary,
  flagOf,
  number,
  numberOf,
  only,
  type Theirs,
  text,
  Untranslated,
  word,
} from './translated.ts';

const FACTORY_ONLY =
  /^(do_|dataset_dir$|overwrite_|preprocessing_|output_dir$|logging_|plot_|bf16$|fp16$|ddp_|deepspeed$|report_to$|flash_attn$|enable_liger|trust_remote|save_|gradient_checkpointing|run_name$|dataloader_|disable_gradient)/;

function sizeOf(all: Theirs): number {
  return (
    numberOf(all.get('per_device_train_batch_size') ?? 8) *
    numberOf(all.get('gradient_accumulation_steps') ?? 1)
  );
}

export const llamaFactory: Dictionary = {
  always: {
    ...{ results: 'trained', tooLong: 'cut', rateAt: 'start' },
    ...{ 'trainer.weightDecay': 0, 'trainer.gradNormMax': 1 },
  },
  quiet: (name) => FACTORY_ONLY.test(name),
  names: {
    model_name_or_path: text('policy'),
    stage: only('sft', 'only supervised fine-tuning is, with the job sft'),
    finetuning_type: (value, all) => {
      if (value === 'full') return { 'trainer.adapterRank': 0 };
      if (value !== 'lora')
        throw new Untranslated(`${String(value)} is not supported; supported: full, lora`);
      const rank = numberOf(all.get('lora_rank') ?? 8);
      const alpha = numberOf(all.get('lora_alpha') ?? 2 * rank);
      return { 'trainer.adapterRank': rank, 'trainer.adapterAlpha': alpha };
    },
    lora_rank: () => null,
    lora_alpha: () => null,
    lora_target: only('all', 'adapters are on all linear layers'),
    template: (value) => {
      if (!['qwen', 'qwen3'].includes(String(value)))
        throw new Untranslated(
          `${String(value)} is not supported: conversations are written by the model's own chat template, which is that of LLaMA-Factory's qwen; leave the line out to use it`,
        );
      return { prompt: 'data', afterEnd: 'trained' };
    },
    cutoff_len: number('tokensMax'),
    learning_rate: number('lr'),
    num_train_epochs: number('epochs'),
    per_device_train_batch_size: (_, all) => ({ size: sizeOf(all) }),
    gradient_accumulation_steps: (_, all) => ({ size: sizeOf(all) }),
    lr_scheduler_type: word('schedule', { cosine: 'cosine', constant: 'constant' }),
    warmup_ratio: number('warmupRatio'),
    weight_decay: number('trainer.weightDecay'),
    max_grad_norm: number('trainer.gradNormMax'),
    packing: (value) => (flagOf(value) ? { 'trainer.packing': 'packed' } : null),
    train_on_prompt: (value) => (flagOf(value) ? { learn: 'all' } : null),
    mask_history: (value) => (flagOf(value) ? { learn: 'last' } : null),
    dataset: (value, all) => {
      const folder = String(all.get('dataset_dir') ?? 'data');
      const names = String(value).split(',');
      const files = names.map((name) => `${folder}/dataset_info.json#${name.trim()}`);
      return { data: files.join(',') };
    },
  },
};
