/**
 * `--settings verl:FILE` (or `verl:-`, the standard input): the overrides that a script gives verl's trainer
 * as settings of the RL jobs. Variables that the file itself sets are filled in.
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

const ROLLOUT = 'actor_rollout_ref.rollout';
const ACTOR = 'actor_rollout_ref.actor';
const QUIET =
  /(offload|fsdp|_per_gpu|gpu_memory|tensor_model_parallel|log_prob|logger|project_name|experiment_name|default_local_dir|n_gpus|nnodes|use_dynamic_bsz|gradient_checkpointing|remove_padding|rollout_data_dir|enforce_eager|free_cache|rollout\.name$|rollout\.mode$|max_num_batched|chunked_prefill|ulysses|resume|hydra|verbose_logging|max_workers|fail_on_error|val_before_train|critic_warmup|\.ref\.|reward_manager|custom_reward|wandb|class_path|conda|cache_file|multi_turn|return_raw_chat|filter_overlong|use_kl_loss$|kl_ctrl|prompt_key|dataloader)/;

/** A word of a shell command, including quotes. */
const WORDS = /(?:[^\s"']|"[^"]*"|'[^']*')+/g;

/** `key=value` words of a text, with the variables that it sets; later ones take precedence. */
export function overridesIn(script: string): Theirs {
  const variables = new Map<string, string>();
  const found = new Map<string, unknown>();
  const filled = (value: string): string =>
    value.replace(/\$\{(\w+)(?::-([^}]*))?\}|\$(\w+)/g, (whole, braced, usual, bare) => {
      return variables.get(braced ?? bare) ?? usual ?? whole;
    });
  for (const line of script.replace(/\\\r?\n/g, ' ').split('\n')) {
    for (const given of line.replace(/(^|\s)#.*$/, '').matchAll(WORDS)) {
      const [name = '', ...rest] = given[0].split('=');
      if (rest.length === 0) continue;
      const value = filled(rest.join('=').replace(/^(["'])(.*)\1$/, '$2'));
      if (/^\+{0,2}[a-z]\w*(\.\w+)+$/.test(name)) found.set(name.replace(/^\++/, ''), value);
      else if (/^\w+$/.test(name)) variables.set(name, value);
    }
  }
  return found;
}

/** One file of a hydra list: `["a.parquet"]`, `a.parquet`. */
function oneFile(key: string): (value: unknown) => Readonly<Record<string, unknown>> {
  return (value) => {
    const files = String(value)
      .replace(/^\[|\]$/g, '')
      .split(',')
      .map((file) => file.trim().replace(/^["']|["']$/g, ''));
    if (files.length > 1)
      throw new Untranslated(
        `${files.length} files: put their rows into one, or set ${key} yourself`,
      );
    return { [key]: files[0] };
  };
}

const clip = (value: unknown) => ({ clipLow: numberOf(value), clipHigh: numberOf(value) });

export const verl: Dictionary = {
  quiet: (name) => QUIET.test(name),
  names: {
    'actor_rollout_ref.model.path': text('policy'),
    'data.train_files': oneFile('questions'),
    'data.val_files': oneFile('heldOutFile'),
    'data.train_batch_size': number('batchGroups'),
    'data.max_prompt_length': number('promptMax'),
    'data.max_response_length': number('responseMax'),
    'data.truncation': only('error', 'a question with a longer prompt becomes a dead letter'),
    'algorithm.adv_estimator': word('advantage', {
      ...{ grpo: 'grpo', rloo: 'rloo', opo: 'opo', gae: undefined },
    }),
    'algorithm.use_kl_in_reward': only('false', 'KL is in the loss only (kl.coefficient)'),
    [`${ACTOR}.ppo_mini_batch_size`]: (value, all) => {
      const batch = numberOf(all.get('data.train_batch_size') ?? Number.NaN);
      const steps = batch / numberOf(value);
      if (Number.isInteger(steps)) return { miniBatches: steps };
      throw new Untranslated(`it does not divide data.train_batch_size (${batch})`);
    },
    [`${ACTOR}.ppo_epochs`]: only('1', 'a batch is trained on once'),
    [`${ACTOR}.optim.lr`]: number('lr'),
    [`${ACTOR}.optim.weight_decay`]: number('trainer.weightDecay'),
    [`${ACTOR}.grad_clip`]: number('trainer.gradNormMax'),
    [`${ACTOR}.clip_ratio`]: clip,
    [`${ACTOR}.clip_ratio_low`]: number('clipLow'),
    [`${ACTOR}.clip_ratio_high`]: number('clipHigh'),
    [`${ACTOR}.clip_ratio_c`]: number('clipC'),
    [`${ACTOR}.entropy_coeff`]: number('entropyCoefficient'),
    [`${ACTOR}.loss_agg_mode`]: text('aggregation'),
    [`${ACTOR}.kl_loss_coef`]: (value, all) => {
      const isUsed = flagOf(all.get(`${ACTOR}.use_kl_loss`) ?? false);
      return { 'kl.coefficient': isUsed ? numberOf(value) : 0 };
    },
    [`${ACTOR}.kl_loss_type`]: word('kl.kind', { low_var_kl: 'k3', k3: 'k3', kl: 'k1', k1: 'k1' }),
    [`${ACTOR}.enable_entropy_balanced_clipping`]: (value) => ({ 'aepo.clipping': flagOf(value) }),
    [`${ACTOR}.enable_entropy_balanced_advantage`]: (value) => ({
      'aepo.advantageWeight': flagOf(value) ? 0.2 : 0,
    }),
    [`${ROLLOUT}.n`]: number('rollouts'),
    [`${ROLLOUT}.initial_rollouts`]: number('initialRollouts'),
    [`${ROLLOUT}.beam_size`]: number('beamSize'),
    [`${ROLLOUT}.branch_probability`]: number('branchProbability'),
    [`${ROLLOUT}.entropy_weight`]: number('entropyWeight'),
    [`${ROLLOUT}.enable_dynamic_rollouts`]: (value) => ({ dynamicBudget: flagOf(value) }),
    [`${ROLLOUT}.temperature`]: number('temperature'),
    [`${ROLLOUT}.top_p`]: number('topP'),
    [`${ROLLOUT}.top_k`]: (value) => ({ topK: Math.max(0, numberOf(value)) }),
    [`${ROLLOUT}.val_kwargs.n`]: number('evaluationRollouts'),
    [`${ROLLOUT}.tools.call_limit`]: number('callLimit'),
    [`${ROLLOUT}.tools.timeout`]: number('tools.python.timeoutMs', 1000),
    [`${ROLLOUT}.tools.retry_count`]: number('tools.search.emptyTries'),
    'trainer.total_epochs': number('rounds'),
    'trainer.test_freq': number('evaluateEvery'),
    'trainer.save_freq': number('keepEvery'),
    'reward_model.reward_kwargs.sigma_tool': (value) => ({ sigmas: [numberOf(value)] }),
  },
};
