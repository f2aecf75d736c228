import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { givenSettings } from '../../cli/givenSettings.ts';
import { readyJobs } from '../../cli/readyJobs.ts';
import { checkSettings } from '../../cli/settings.ts';
import { fakeIo } from './support/fakeIo.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-foreign-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** The settings that a file gives a ready job, and what is said of it. */
async function given(job: string, form: string, text: string) {
  const { job: found } = readyJobs.find(({ name }) => name === job)!;
  await writeFile(join(folder, 'theirs'), text);
  const io = fakeIo(folder);
  const flags = { settings: `${form}:theirs`, set: [] };
  const settings = checkSettings(found!.settings, await givenSettings(found!, flags, io));
  return { settings, err: io.stderr() };
}

const factory = `### model
model_name_or_path: models/qwen
trust_remote_code: true
stage: sft
do_train: true
finetuning_type: full
deepspeed: ds_z3_config.json
dataset_dir: dataset_info
dataset: cold, more
template: qwen
cutoff_len: 15000
max_samples: 1000000
overwrite_cache: true
logging_steps: 10
save_steps: 2000
per_device_train_batch_size: 1
gradient_accumulation_steps: 4
learning_rate: 7.0e-6
num_train_epochs: 3.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
bf16: true
`;

describe('a file of LLaMA-Factory', () => {
  test('becomes settings of sft, and what is not used is named', async () => {
    const { settings, err } = await given('sft', 'llamafactory', factory);
    expect(settings).toMatchObject({
      ...{ policy: 'models/qwen', tokensMax: 15_000, tooLong: 'cut', lr: 7e-6, epochs: 3, size: 4 },
      ...{ schedule: 'cosine', warmupRatio: 0.1, rateAt: 'start', prompt: 'data' },
      ...{ results: 'trained', afterEnd: 'trained' },
      data: 'dataset_info/dataset_info.json#cold,dataset_info/dataset_info.json#more',
      trainer: { weightDecay: 0, gradNormMax: 1, adapterRank: 0 },
    });
    expect(err).toContain('theirs: not used: max_samples');
  });

  test('trains an adapter where it says lora', async () => {
    const text =
      'model_name_or_path: m\ndataset: d\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\nlearning_rate: 1.0e-5\n';
    const { settings } = await given('sft', 'llamafactory', text);
    expect(settings).toMatchObject({ trainer: { adapterRank: 8, adapterAlpha: 16 }, lr: 1e-5 });
  });

  test.each([
    ['stage: dpo\n', 'theirs: stage: dpo is not supported'],
    ['lr_scheduler_type: linear\n', 'linear is not supported; supported: cosine, constant'],
    ['template: llama3\n', 'llama3 is not supported'],
    ['learning_rate: fast\n', 'expected a number, found "fast"'],
    ['output_dir: out\n', 'nothing in it is a setting of this job'],
    ['- a\n', 'consists of key: value lines'],
  ])('with %j is refused', async (text, message) => {
    await expect(given('sft', 'llamafactory', text)).rejects.toThrow(message);
  });
});

const script = `#!/bin/bash
export PYTHONUNBUFFERED=1
ACTOR_MODEL_PATH=models/qwen   # the cold start
TRAIN_BATCH_SIZE=64
ROLLOUT_N=16
python3 -m verl.trainer.main_ppo --config-name=ppo_trainer \\
    algorithm.adv_estimator=grpo \\
    data.train_batch_size=\${TRAIN_BATCH_SIZE} \\
    data.train_files='["rl/train.parquet"]' \\
    data.max_prompt_length=2000 data.max_response_length=4096 \\
    actor_rollout_ref.model.path="$ACTOR_MODEL_PATH" \\
    actor_rollout_ref.actor.ppo_mini_batch_size=4 \\
    actor_rollout_ref.actor.optim.lr=1e-6 \\
    actor_rollout_ref.actor.use_kl_loss=True \\
    actor_rollout_ref.actor.kl_loss_coef=0.0 \\
    actor_rollout_ref.actor.kl_loss_type=low_var_kl \\
    actor_rollout_ref.rollout.n=$ROLLOUT_N \\
    ++actor_rollout_ref.rollout.initial_rollouts=8 \\
    actor_rollout_ref.rollout.gpu_memory_utilization=0.5 \\
    actor_rollout_ref.rollout.tools.call_limit=6 \\
    trainer.nnodes=1 trainer.total_epochs=3 trainer.save_freq=30 trainer.test_freq=10 \\
    actor_rollout_ref.actor.shuffle=True trainer.unheard_of=1
`;

describe('a script for verl', () => {
  test('becomes settings of an RL job, and what is not used is named', async () => {
    const { settings, err } = await given('arpo', 'verl', script);
    expect(settings).toMatchObject({
      ...{ policy: 'models/qwen', questions: 'rl/train.parquet', batchGroups: 64, miniBatches: 16 },
      ...{ promptMax: 2000, responseMax: 4096, lr: 1e-6, rollouts: 16, initialRollouts: 8 },
      ...{ callLimit: 6, rounds: 3, keepEvery: 30, evaluateEvery: 10, advantage: 'grpo' },
      kl: { kind: 'k3', coefficient: 0 },
    });
    expect(err).toContain('theirs: not used: actor_rollout_ref.actor.shuffle, trainer.unheard_of');
  });

  test.each([
    ['algorithm.adv_estimator=gae', 'algorithm.adv_estimator: gae is not supported'],
    ['data.train_batch_size=10 actor_rollout_ref.actor.ppo_mini_batch_size=4', 'does not divide'],
    ['data.train_files="[a.parquet,b.parquet]"', '2 files'],
    ['echo nothing', 'nothing in it is a setting of this job'],
  ])('with %j is refused', async (text, message) => {
    await expect(given('arpo', 'verl', text)).rejects.toThrow(message);
  });
});
