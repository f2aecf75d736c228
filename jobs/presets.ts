/**
 * Presets of the ready jobs: the numbers that the papers' scripts run with. Each number says where it comes
 * from: the paper (P), the released scripts and configurations (S), or, if neither has it, our own choice
 * (ours). docs/presets.md lists what our settings cannot express.
 *
 * `policy` is the model that training began from in the paper, by name; its weights come from the Hugging
 * Face cache.
 */
import type { Preset } from './defineJob.ts';

/** What the RL trainers have in common (ARPO reference §7.7, ET-Agent §8.1; S). */
const optimiser = { weightDecay: 0.01, gradNormMax: 1 };

/** LLaMA-Factory alone: the defaults of transformers' trainer, which no recipe changes. */
const llamaFactoryOptimiser = { weightDecay: 0, gradNormMax: 1 };

/** The loss of ET-Agent, ARPO and AEPO (ARPO reference §7.3, §7.4; ET-Agent §8.8; S). */
const clippedLoss = {
  advantage: 'grpo', // adv_estimator
  loss: 'clipped',
  clipLow: 0.2, // clip_ratio_low
  clipHigh: 0.2, // clip_ratio_high
  clipC: 3, // clip_ratio_c, the dual clip
  aggregation: 'token-mean', // loss_agg_mode
  kl: { kind: 'k3', coefficient: 0 }, // low_var_kl, kl_loss_coef 0.0
  entropyCoefficient: 0, // entropy_coeff
};

/** Rollouts of the RL stages (ARPO §1.5, ET-Agent §8.1; S). */
const rolloutSampling = { temperature: 1, topP: 1, topK: 0, repetitionPenalty: 1 };

/** Branching of ET-Agent, ARPO and AEPO at 7B and 8B: n, N, Z, b, w (ARPO §1.10, ET-Agent §8.1; S). */
const branching16 = {
  rollouts: 16,
  initialRollouts: 8,
  beamSize: 2,
  branchProbability: 0.5,
  entropyWeight: 0.2,
};
/** The same at 14B (ARPO §1.10; S). */
const branching12 = { ...branching16, rollouts: 12, initialRollouts: 6 };

function etAgentPreset(policy: string, about: string, own: Preset['settings'] = {}): Preset {
  return {
    about,
    settings: {
      policy,
      tools: {
        use: ['python', 'search'], // ET-Agent §2
        python: {
          timeoutMs: 120_000, // §8.1: tools.timeout 120 s (S)
          characters: 1000, // §2.2: max_python_result_length (S); in RL nothing cuts a result but the response's end (§8.2)
        },
        search: { emptyTries: 3 }, // §8.1: retry_count (S)
      },
      searchTop: 4, // §8.1: local search top 4 (S, P)
      searchCharacters: 1200, // §8.1: 1,200 characters a document (S, P)
      ...rolloutSampling,
      promptMax: 2000, // §8.1: max_prompt_length (S)
      responseMax: 4096, // §8.1: max_response_length (S, P)
      callLimit: 6, // §8.1: call_limit, both tools together (S)
      lagMax: 0, // the released trainer is on-policy
      heldOut: 160, // §12: valid.parquet has 160 rows
      evaluationRollouts: 1, // §8.2: validation has n = 1
      evaluateEvery: 10, // §8.1: test_freq (S)
      keepEvery: 30, // §8.1: save_freq (S)
      rounds: 3, // §0, §7.7: three rounds (P, S)
      select: 'questions', // §7: the chosen questions are rolled out afresh
      sampler: 'pareto',
      explore: 20_000, // §6: counts 20000 (S)
      exploreRollouts: 8, // §6: max_rounds 8 (S); the paper has K = 16
      keep: 8000, // §7.3: N = 8000 (S)
      epochs: 3, // §8.1: total_epochs of a round (S)
      mixedOnly: true, // §7.4 (S)
      mode: 'reference', // §7.1: variances
      branching: 'arpo', // §8.4
      ...branching16,
      batchGroups: 64, // §8.1: train_batch_size (S, P)
      miniBatches: 16, // §8.1: 64 / ppo_mini_batch_size 4 (S)
      lr: 1e-6, // §8.1 (S, P)
      ...clippedLoss,
      attribution: 'soft', // ARPO §1.7: as run (S)
      reward: 'efficiency', // §8.5
      sigmas: [0.1, 0.0667, 0.0333], // §8.1, §13: 0.1 at the start, less each round (P); by how much: ours
      sigmaDecay: false, // §8.6: the scripts' own decay acts on sigma 0 (S)
      lengthWeight: 1, // §13: both sigmas start at 0.1 (P)
      flywheel: {
        questions: 10_500, // §5: RFT on 10.5k rows (P), one of each question here (ours)
        rounds: 3, // §4.1: max_evolve_times (S, P)
        initial: 1, // §14: one (S)
        parents: 1, // §4.5: the best one not evolved yet (S)
        callLimit: 6, // §4.1: max_python_times, max_search_times (S)
        extraCalls: 4, // §4.1: additional_python_times, additional_search_times (S)
        perQuestion: 1, // ours
        sampling: { temperature: 1, topP: 0.95, topK: 0, repetitionPenalty: 1.1 }, // §4.1 (S); top_k 20 is never sent (§3)
      },
      finetune: {
        epochs: 3, // §5 (S, P)
        size: 32, // §5: 1 × 8 × 4 GPUs (S, P)
        perQuestionMax: 1, // ours
        lr: 5e-6, // §5 (S, P)
        schedule: 'cosine', // §5 (S)
        warmupRatio: 0.1, // §5 (S)
        results: 'trained', // §5: result blocks are not masked (S)
      },
      analyst: { temperature: 1, topP: 0.95, repetitionPenalty: 1.1, maxTokens: 4096 }, // §4.1 (S)
      critic: { temperature: 1, topP: 0.95, repetitionPenalty: 1.1, maxTokens: 4096 }, // §4.1 (S)
      trainer: optimiser,
      ...own,
    },
  };
}

/** Presets of `et-agent`. */
export const etAgentPresets: Readonly<Record<string, Preset>> = {
  'et-agent-3b': etAgentPreset(
    'Qwen/Qwen2.5-3B-Instruct',
    'the paper’s numbers for 7B, with Qwen2.5-3B-Instruct (the paper trained only 7B)',
  ),
  'et-agent-7b': etAgentPreset(
    'Qwen/Qwen2.5-7B-Instruct',
    'the paper: Qwen2.5-7B-Instruct, trained on 4 GPUs of 80 GB; critic Qwen2.5-72B-Instruct on its own servers',
  ),
  'et-agent-7b-released': etAgentPreset(
    'Qwen/Qwen2.5-7B-Instruct',
    'the same with the sigma of the released scripts, which is 0: correctness and format alone',
    {
      sigmas: [0], // §8.1: sigma_tool 0.0, sigma_length 0.0 in all three scripts (S)
      sigmaDecay: true, // §8.6: sigma_factor (S)
    },
  ),
};

/** What ARPO's and AEPO's scripts have in common (ARPO §1.10, §2; S). */
const policyGradient = {
  tools: {
    use: ['python', 'search'],
    python: {
      timeoutMs: 120_000, // ARPO §1.1: tools.timeout 120 s
      characters: 40_000, // §8.2 of ET-Agent, the same code: nothing cuts a result but the response's end (S); the number: ours
    },
    search: {
      provider: 'brightdata', // ARPO §5.4: Bing through api.brightdata.com
      region: 'cn', // ARPO §5.2: location
      top: 10, // ARPO §5.2: max_results
      characters: 1000, // ARPO §5.2: result_length
      timeoutMs: 60_000, // ARPO §5.4: HTTP timeout
      tries: 1, // ARPO §5.4: any error is an empty output
      emptyTries: 3, // ARPO §5.1: retry_count
    },
  },
  evaluateEvery: 5, // ARPO §1.10: test_freq
  keepEvery: 5, // ARPO §1.10: save_freq
  ...rolloutSampling,
  lagMax: 0,
  evaluationRollouts: 1, // ARPO §7.9: validation has n = 1
  ...clippedLoss,
  attribution: 'soft', // ARPO §1.7: as run
  reward: 'deep-research', // ARPO §3.2
  lr: 1e-6, // ARPO §1.10
  trainer: optimiser,
};

/** Reasoning at 7B (ARPO §1.10: ARPO_7B_Reasoning_1node.sh; AEPO §2; S). */
const reasoning7b = {
  ...policyGradient,
  policy: 'Qwen/Qwen2.5-7B-Instruct',
  promptMax: 1536, // max_prompt_length
  responseMax: 4096, // max_response_length
  rounds: 2, // total_epochs
  explore: 9984, // train_10k: 10,000 rows, 78 whole batches (drop_last)
  heldOut: 180, // ARPO §1.10: valid.parquet of the snapshot
  batchGroups: 128, // train_batch_size
  miniBatches: 8, // 128 / ppo_mini_batch_size 16
  ...branching16,
};

/** Deep search (ARPO §1.10: the 8B and 14B scripts; AEPO §2; S). */
const deepSearch = {
  ...policyGradient,
  callLimit: 6, // ARPO §1.1: the deep-research yaml of September; §2 for AEPO
  promptMax: 2000, // max_prompt_length
  rounds: 5, // total_epochs
  explore: 1024, // hard_search_1k: 1,071 rows in whole batches (drop_last)
  heldOut: 203, // gaia_test 103 + hle_test 100
};

const deepSearch14b = {
  ...deepSearch,
  policy: 'Qwen/Qwen3-14B',
  responseMax: 6192, // max_response_length
  batchGroups: 64, // train_batch_size
  miniBatches: 8, // 64 / ppo_mini_batch_size 8
  ...branching12,
};

/** Presets of `arpo`. */
export const arpoPresets: Readonly<Record<string, Preset>> = {
  'arpo-7b': {
    about: 'reasoning, Qwen2.5-7B after its cold start, 8 GPUs of 80 GB (the paper’s scripts)',
    settings: {
      ...reasoning7b,
      branching: 'arpo',
      callLimit: 3, // ARPO §1.1: the reasoning yaml
    },
  },
  'arpo-8b': {
    about: 'deep search, Qwen3-8B after its cold start, 8 GPUs of 80 GB (the paper’s scripts)',
    settings: {
      ...deepSearch,
      policy: 'Qwen/Qwen3-8B',
      branching: 'arpo',
      responseMax: 10_000, // max_response_length
      batchGroups: 128, // train_batch_size
      miniBatches: 8, // 128 / ppo_mini_batch_size 16
      ...branching16,
    },
  },
  'arpo-14b': {
    about:
      'deep search, Qwen3-14B after its cold start, 16 GPUs of 80 GB in the paper (its script asks for 8)',
    settings: { ...deepSearch14b, branching: 'arpo' },
  },
};

/** What AEPO adds in its published scripts (§2, §2.3, §2.4; S). */
const aepoParts = {
  branching: 'aepo',
  dynamicBudget: false, // ENABLE_DYNAMIC_ROLLOUTS=False; the yaml, and the paper, have it on
  penaltyScope: 'group', // §2.2: as released
  callLimit: 6, // §2: call_limit of the AEPO yamls
  tools: {
    ...policyGradient.tools,
    search: { ...policyGradient.tools.search, emptyTries: 4 }, // §2: retry_count
  },
  aepo: {
    clipping: true, // ENABLE_ENTROPY_BALANCED_CLIPPING=True
    advantageWeight: 0.2, // ENABLE_ENTROPY_BALANCED_ADVANTAGE=True, §2.4: 0.2
  },
};

/** Presets of `aepo`. */
export const aepoPresets: Readonly<Record<string, Preset>> = {
  'aepo-7b': {
    about: 'reasoning, Qwen2.5-7B after its cold start, 8 GPUs of 80 GB (the paper’s scripts)',
    settings: { ...reasoning7b, ...aepoParts },
  },
  'aepo-14b': {
    about: 'deep search, Qwen3-14B after its cold start, 16 GPUs of 80 GB in the paper',
    settings: { ...deepSearch14b, ...aepoParts },
  },
};

/** Presets of `tool-star`. */
export const toolStarPresets: Readonly<Record<string, Preset>> = {
  'tool-star-3b': {
    about: 'Qwen2.5-3B-Instruct, 8 GPUs of 80 GB (the paper’s scripts)',
    settings: {
      policy: 'Qwen/Qwen2.5-3B-Instruct',
      tools: {
        use: ['python', 'search'],
        python: { timeoutMs: 5000, characters: 400 }, // §5.3: 5 s, 400 characters (S; there: the first and the last 200)
      },
      searchTop: 10, // §4.3: the snippets of the top 10 results (S)
      ...rolloutSampling,
      promptMax: 1536, // §4.3 (S)
      responseMax: 4096, // §4.3 (S)
      callLimit: 3, // §4.3: at most 3 calls in total (P, S)
      lagMax: 0,
      keepEvery: 10, // §4.3: save_freq (S)
      coldStart: {
        questions: 90_000, // §4.1: about 90 K problems (P)
        direct: 1,
        tools: 3, // §4.1: 3 tool-integrated answers a question (P)
        hints: true, // §4.1 (P)
        callsMax: 5, // §4.1: β = 5 (P)
        perQuestion: 1,
      },
      finetune: {
        epochs: 3, // §4.2 (S)
        size: 32, // §4.2: 1 × 4 on 8 GPUs (S; the number of GPUs: ours)
        lr: 7e-6, // §4.2 (S)
        schedule: 'cosine', // §4.2 (S)
        warmupRatio: 0.1, // §4.2 (S)
        results: 'trained', // ET-Agent §5, the same trainer: results are not masked (S)
      },
      loops: 2, // §4.3: 2 epochs (S), each with its self-critic
      hardMin: 128,
      hardMax: 10_000, // §4.1: a pool of 10 K (P, S)
      rollouts: 8, // §4.3: n (S)
      batchGroups: 128, // §4.3 (S)
      miniBatches: 8, // §4.3: 128 / 16 (S)
      lr: 1e-6, // §4.3 (S)
      ...clippedLoss,
      clipC: 1_000_000, // §4.3: that trainer has no dual clip (S)
      reward: 'tool-star', // §3.5: re_search, re_search_math (S)
      equality: 'math-verify', // §3.5 (S)
      critic: {
        beta: 0.1, // §4.4: pref_beta (S)
        lr: 5e-6, // §4.4 (S)
        epochs: 3, // §4.4 (S)
        size: 32, // §4.4: 2 × 2 on 8 GPUs (S; the number of GPUs: ours)
        schedule: 'cosine', // §4.4 (S)
        warmupRatio: 0.1, // §4.4 (S)
      },
      trainer: optimiser,
    },
  },
};

/** Presets of `tool-light`. */
export const toolLightPresets: Readonly<Record<string, Preset>> = {
  'tool-light-7b': {
    about: 'Qwen2.5-7B after its cold start (the paper’s scripts)',
    settings: {
      policy: 'Qwen/Qwen2.5-7B-Instruct',
      tools: {
        use: ['python', 'search'],
        python: { timeoutMs: 5000, characters: 400 }, // §5.3: 5 s, 400 characters (S; there: the first and the last 200)
      },
      searchTop: 5, // §4.6: retriever top_n (S)
      temperature: 1, // §4.6 (S)
      topP: 0.8, // §4.6 (S)
      topK: 20, // §4.6 (S)
      repetitionPenalty: 1.1, // §4.6 (S)
      responseMax: 8000, // §4.6 (S)
      callLimit: 8, // §4.6: 4 of Python and 4 of search (S)
      toolCallLimit: 4, // the same (S)
      candidates: 54_000, // §4.6: the questions of the fine-tuning set, 53,971 rows (P)
      sourceMax: 4000, // §4.6 (P)
      loops: 2, // §4.6: two self-evolution loops are best (P)
      ways: 'both', // §4.6: every question is sampled both ways (S)
      guided: {
        steps: 3, // §4.6: up to 3 steps (S)
        perStep: 3, // §4.6: 3 branches each (S)
      },
      mix: { vanilla: 13, guided: 7, hard: 2, easy: 1 }, // §4.6 (P)
      tokensMax: 6000, // §4.6: longer pairs are dropped (P)
      prefer: {
        samples: 10, // §4.6 (P, S)
        beta: 0.1, // §4.6 (S)
        lr: 7e-6, // §4.6 (S)
        epochs: 3, // §4.6 (S)
        size: 32, // §4.6: 1 × 4 on 8 GPUs (S; the number of GPUs: ours)
        schedule: 'cosine', // §4.4, the same trainer's recipe (S)
        warmupRatio: 0.1, // the same (S)
      },
      trainer: {
        ...llamaFactoryOptimiser,
        adapterRank: 8, // §4.6: LoRA r = 8 (S)
        adapterAlpha: 16, // the default of LLaMA-Factory: twice the rank
      },
    },
  },
};

/**
 * DeepAgent: the release's defaults of an episode (DeepAgent §1.1, §2.1; S), and ToolPO's numbers (§3.6; P).
 * What the paper does not say about its training (learning rate, clipping, mini-batches) is ours.
 */
const deepAgent32b = {
  policy: 'Qwen/QwQ-32B', // §1.1 (P, S)
  temperature: 0.7, // §1.1 (S)
  topP: 0.8, // §1.1 (S)
  topK: 20, // §1.1 (S)
  repetitionPenalty: 1.05, // §1.1 (S)
  promptMax: 4096, // ours
  responseMax: 28_672, // §3.6: sequences of 32,768 (P), less the prompt
  concurrency: 32, // §1.1: concurrent_limit (S)
  lagMax: 0, // ours
  evaluationRollouts: 1, // §4.4: Pass@1 (P)
  rounds: 2, // ours: 100 steps (§3.6, P) in two rounds
  explore: 3200, // §3.6: 50 steps of 64 a round, of about 4.6k tasks (§3.1, P)
  rollouts: 8, // §3.6: K (P)
  batchGroups: 64, // §3.6 (P)
  miniBatches: 1, // ours
  lr: 1e-6, // ours
  advantage: 'toolpo', // §3.4 (P)
  loss: 'clipped', // §3.5 (P)
  clipLow: 0.2, // ours
  clipHigh: 0.2, // ours
  aggregation: 'seq-mean-token-sum', // §3.5: a sum over tokens (P)
  kl: { kind: 'k3', coefficient: 0 }, // §3.5: none is shown (P)
  entropyCoefficient: 0, // §3.5: none is shown (P)
  callWeight: 1, // §3.3 (P)
  foldWeight: 1, // §3.3 (P)
  credit: 'sum', // §3.3 (P)
  episode: {
    actions: 50, // §1.1: max_action_limit (P, S)
    folds: 3, // §1.1: max_fold_limit (S)
    context: 24_000, // ours: the release counts 40,000 words
    top: 10, // §1.1: top_k (S)
    searchCharacters: 15_000, // §1.5 (S)
    callCharacters: 5000, // §1.6 (S)
    auxiliaryAtOnce: 32, // §1.1: concurrent_limit (S)
  },
  auxiliary: { temperature: 0.7, topP: 0.8, topK: 20, repetitionPenalty: 1.05 }, // §1.1: as the policy (S)
  simulator: { temperature: 0.2, topP: 1, maxTokens: 2048 }, // §3.2 (S)
  trainer: optimiser, // ours: those of verl
};

/** Presets of `deep-agent`. */
export const deepAgentPresets: Readonly<Record<string, Preset>> = {
  'deep-agent-32b': {
    about:
      'QwQ-32B, 64 GPUs of 141 GB in the paper; auxiliary model Qwen2.5-32B-Instruct on a server of its own',
    settings: deepAgent32b,
  },
  'deep-agent-30b-a3b': {
    about: 'the same numbers with Qwen3-30B-A3B-Thinking-2507 (the paper only evaluated it)',
    settings: { ...deepAgent32b, policy: 'Qwen/Qwen3-30B-A3B-Thinking-2507' },
  },
};

/**
 * What the papers' fine-tuning has in common: LLaMA-Factory's full fine-tuning (ET-Agent §5, Tool-Star §4.2;
 * S).
 */
const llamaFactory = {
  prompt: 'data', // template qwen
  learn: 'answers', // train_on_prompt and mask_history are off
  results: 'trained', // results are not masked
  afterEnd: 'trained', // its template qwen ends an answer with a line end
  tooLong: 'cut', // cutoff_len cuts (it may cut the question, here the end goes)
  epochs: 3, // num_train_epochs
  schedule: 'cosine',
  warmupRatio: 0.1,
  rateAt: 'start', // get_cosine_schedule_with_warmup
  trainer: llamaFactoryOptimiser,
};

/** Presets of `sft`. */
export const sftPresets: Readonly<Record<string, Preset>> = {
  'et-agent-rft': {
    about: 'ET-Agent’s fine-tuning of Qwen2.5-7B-Instruct (the paper’s scripts)',
    settings: {
      policy: 'Qwen/Qwen2.5-7B-Instruct',
      ...llamaFactory,
      tokensMax: 10_000, // §5: cutoff_len (S)
      size: 32, // §5: 1 × 8 × 4 GPUs (S, P)
      lr: 5e-6, // §5 (S, P)
    },
  },
  'tool-star-sft': {
    about:
      'Tool-Star’s cold start of Qwen2.5-3B-Instruct on its 54k conversations (the paper’s scripts)',
    settings: {
      policy: 'Qwen/Qwen2.5-3B-Instruct',
      ...llamaFactory,
      tokensMax: 15_000, // §4.2: cutoff_len (S)
      size: 32, // §4.2: 1 × 4 on 8 GPUs (S; the number of GPUs: ours)
      lr: 7e-6, // §4.2 (S)
    },
  },
  'arpo-sft': {
    about: 'ARPO’s cold start on the same conversations (the paper’s scripts)',
    settings: {
      policy: 'Qwen/Qwen2.5-7B-Instruct',
      ...llamaFactory,
      tokensMax: 15_000, // §4.2 (S)
      size: 16, // §4.2: 1 × 2 on 8 GPUs (S; the number of GPUs: ours)
      lr: 7e-6, // §4.2 (S)
    },
  },
};
