/**
 * Every number of the presets, each with where it is from: E = ET-Agent's notes, A = those of ARPO, AEPO,
 * Tool-Star and Tool-Light, by section; `ours` = said by neither paper nor scripts. Written from the notes,
 * not from jobs/presets.ts, so that one holds the other.
 */
export type Numbers = Readonly<
  Record<string, readonly [value: number | readonly number[], source: string]>
>;

const optimiser: Numbers = {
  'trainer.weightDecay': [0.01, 'A §7.7, E §8.1'],
  'trainer.gradNormMax': [1, 'A §7.7, E §8.1'],
};
/** The defaults of transformers' trainer, which LLaMA-Factory's recipes leave as they are. */
const llamaFactoryOptimiser: Numbers = {
  'trainer.weightDecay': [0, 'the trainer’s default'],
  'trainer.gradNormMax': [1, 'the trainer’s default'],
};
const loss: Numbers = {
  clipLow: [0.2, 'A §7.3, E §8.1'],
  clipHigh: [0.2, 'A §7.3, E §8.1'],
  clipC: [3, 'A §7.3, E §8.1'],
  'kl.coefficient': [0, 'A §1.10, E §8.1'],
  entropyCoefficient: [0, 'A §7.5, E §8.1'],
  lr: [1e-6, 'A §1.10, E §8.1'],
};
const sampling: Numbers = {
  temperature: [1, 'A §1.5, E §8.1'],
  topP: [1, 'A §1.5, E §8.1'],
  topK: [0, 'A §1.5, E §8.1: -1, none'],
  repetitionPenalty: [1, 'A §1.5, E §8.1: none'],
};
const branching = (rollouts: number, initialRollouts: number): Numbers => ({
  rollouts: [rollouts, 'A §1.10, E §8.1: n'],
  initialRollouts: [initialRollouts, 'A §1.10, E §8.1: N'],
  beamSize: [2, 'A §1.10, E §8.1: Z'],
  branchProbability: [0.5, 'A §1.10, E §8.1: b'],
  entropyWeight: [0.2, 'A §1.10, E §8.1: w'],
});

const model = (prefix: string): Numbers => ({
  [`${prefix}.temperature`]: [1, 'E §4.1'],
  [`${prefix}.topP`]: [0.95, 'E §4.1'],
  [`${prefix}.repetitionPenalty`]: [1.1, 'E §4.1'],
  [`${prefix}.maxTokens`]: [4096, 'E §4.1'],
});

const etAgent: Numbers = {
  'tools.python.timeoutMs': [120_000, 'E §8.1'],
  'tools.python.characters': [1000, 'E §4.1'],
  searchTop: [4, 'E §8.1'],
  searchCharacters: [1200, 'E §8.1'],
  ...sampling,
  promptMax: [2000, 'E §8.1'],
  responseMax: [4096, 'E §8.1'],
  callLimit: [6, 'E §8.1'],
  lagMax: [0, 'on-policy'],
  heldOut: [160, 'E §12'],
  evaluationRollouts: [1, 'E §8.2'],
  evaluateEvery: [10, 'E §8.1'],
  keepEvery: [30, 'E §8.1'],
  'tools.search.emptyTries': [3, 'E §8.1'],
  rounds: [3, 'E §7.7'],
  explore: [20_000, 'E §6'],
  exploreRollouts: [8, 'E §6'],
  keep: [8000, 'E §7.3'],
  epochs: [3, 'E §8.1'],
  ...branching(16, 8),
  batchGroups: [64, 'E §8.1'],
  miniBatches: [16, 'E §8.1: 64 / 4'],
  ...loss,
  sigmas: [[0.1, 0.0667, 0.0333], 'E §13: from 0.1 down; by how much: ours'],
  lengthWeight: [1, 'E §13: both sigmas begin at 0.1'],
  'flywheel.questions': [10_500, 'E §5, §13'],
  'flywheel.rounds': [3, 'E §4.1'],
  'flywheel.initial': [1, 'E §14'],
  'flywheel.parents': [1, 'E §14'],
  'flywheel.callLimit': [6, 'E §4.1'],
  'flywheel.extraCalls': [4, 'E §4.1'],
  'flywheel.perQuestion': [1, 'ours'],
  'flywheel.sampling.temperature': [1, 'E §4.1'],
  'flywheel.sampling.topP': [0.95, 'E §4.1'],
  'flywheel.sampling.topK': [0, 'E §3: top_k is never sent'],
  'flywheel.sampling.repetitionPenalty': [1.1, 'E §4.1'],
  'finetune.epochs': [3, 'E §5'],
  'finetune.size': [32, 'E §5: 1 x 8 x 4'],
  'finetune.perQuestionMax': [1, 'ours'],
  'finetune.lr': [5e-6, 'E §5'],
  'finetune.warmupRatio': [0.1, 'E §5'],
  ...model('analyst'),
  ...model('critic'),
  ...optimiser,
};

const policyGradient: Numbers = {
  'tools.python.timeoutMs': [120_000, 'A §1.1'],
  'tools.python.characters': [40_000, 'ours: more than a response holds'],
  'tools.search.top': [10, 'A §5.2'],
  'tools.search.characters': [1000, 'A §5.2'],
  'tools.search.timeoutMs': [60_000, 'A §5.4'],
  'tools.search.tries': [1, 'A §5.4'],
  'tools.search.emptyTries': [3, 'A §5.1'],
  evaluateEvery: [5, 'A §1.10'],
  keepEvery: [5, 'A §1.10'],
  ...sampling,
  lagMax: [0, 'on-policy'],
  evaluationRollouts: [1, 'A §7.9'],
  ...loss,
  ...optimiser,
};
const reasoning7b: Numbers = {
  ...policyGradient,
  promptMax: [1536, 'A §1.10'],
  responseMax: [4096, 'A §1.10'],
  rounds: [2, 'A §1.10'],
  explore: [9984, 'A §1.10: 10,000 rows, 78 whole batches'],
  heldOut: [180, 'A §1.10'],
  batchGroups: [128, 'A §1.10'],
  miniBatches: [8, 'A §1.10: 128 / 16'],
  ...branching(16, 8),
};
const deepSearch: Numbers = {
  ...policyGradient,
  callLimit: [6, 'A §1.1, §2'],
  promptMax: [2000, 'A §1.10'],
  rounds: [5, 'A §1.10'],
  explore: [1024, 'A §1.10: 1,071 rows, whole batches'],
  heldOut: [203, 'A §1.10: 103 + 100'],
  miniBatches: [8, 'A §1.10: 128 / 16, 64 / 8'],
};
const deepSearch14b: Numbers = {
  ...deepSearch,
  responseMax: [6192, 'A §1.10'],
  batchGroups: [64, 'A §1.10'],
  ...branching(12, 6),
};
const aepo: Numbers = {
  callLimit: [6, 'A §2'],
  'tools.search.emptyTries': [4, 'A §2'],
  'aepo.advantageWeight': [0.2, 'A §2.4'],
};

const shortPython: Numbers = {
  'tools.python.timeoutMs': [5000, 'A §5.3'],
  'tools.python.characters': [400, 'A §5.3'],
};

const sft = (size: number, tokensMax: number, lr: number, source: string): Numbers => ({
  epochs: [3, source],
  warmupRatio: [0.1, source],
  size: [size, source],
  tokensMax: [tokensMax, source],
  lr: [lr, source],
  ...llamaFactoryOptimiser,
});

export const presetNumbers: Readonly<Record<string, Numbers>> = {
  'et-agent-3b': etAgent,
  'et-agent-7b': etAgent,
  'et-agent-7b-released': { ...etAgent, sigmas: [[0], 'E §8.1'] },
  'arpo-7b': { ...reasoning7b, callLimit: [3, 'A §1.1'] },
  'arpo-8b': {
    ...deepSearch,
    responseMax: [10_000, 'A §1.10'],
    batchGroups: [128, 'A §1.10'],
    ...branching(16, 8),
  },
  'arpo-14b': deepSearch14b,
  'aepo-7b': { ...reasoning7b, ...aepo },
  'aepo-14b': { ...deepSearch14b, ...aepo },
  'tool-star-3b': {
    ...shortPython,
    searchTop: [10, 'A §4.3'],
    ...sampling,
    promptMax: [1536, 'A §4.3'],
    responseMax: [4096, 'A §4.3'],
    callLimit: [3, 'A §4.3'],
    lagMax: [0, 'on-policy'],
    keepEvery: [10, 'A §4.3'],
    'coldStart.questions': [90_000, 'A §4.1'],
    'coldStart.direct': [1, 'ours'],
    'coldStart.tools': [3, 'A §4.1'],
    'coldStart.callsMax': [5, 'A §4.1: beta'],
    'coldStart.perQuestion': [1, 'ours'],
    'finetune.epochs': [3, 'A §4.2'],
    'finetune.size': [32, 'A §4.2: 1 x 4 on 8 GPUs (ours)'],
    'finetune.lr': [7e-6, 'A §4.2'],
    'finetune.warmupRatio': [0.1, 'A §4.2'],
    loops: [2, 'A §4.3'],
    hardMin: [128, 'ours: one batch'],
    hardMax: [10_000, 'A §4.1'],
    rollouts: [8, 'A §4.3'],
    batchGroups: [128, 'A §4.3'],
    miniBatches: [8, 'A §4.3: 128 / 16'],
    ...loss,
    clipC: [1_000_000, 'A §4.3: no dual clip'],
    'critic.beta': [0.1, 'A §4.4'],
    'critic.lr': [5e-6, 'A §4.4'],
    'critic.epochs': [3, 'A §4.4'],
    'critic.size': [32, 'A §4.4: 2 x 2 on 8 GPUs (ours)'],
    'critic.warmupRatio': [0.1, 'A §4.4'],
    ...optimiser,
  },
  'tool-light-7b': {
    ...shortPython,
    searchTop: [5, 'A §4.6'],
    temperature: [1, 'A §4.6'],
    topP: [0.8, 'A §4.6'],
    topK: [20, 'A §4.6'],
    repetitionPenalty: [1.1, 'A §4.6'],
    responseMax: [8000, 'A §4.6'],
    callLimit: [8, 'A §4.6: 4 + 4'],
    candidates: [54_000, 'A §4.1: the fine-tuning set'],
    sourceMax: [4000, 'A §4.6'],
    loops: [2, 'A §4.6'],
    guidedShare: [0.35, 'A §4.6: 7 of 20'],
    'guided.steps': [3, 'A §4.6'],
    'guided.perStep': [3, 'A §4.6'],
    'mix.vanilla': [13, 'A §4.6'],
    'mix.guided': [7, 'A §4.6'],
    'mix.hard': [2, 'A §4.6'],
    'mix.easy': [1, 'A §4.6'],
    tokensMax: [6000, 'A §4.6'],
    'prefer.samples': [10, 'A §4.6'],
    'prefer.beta': [0.1, 'A §4.6'],
    'prefer.lr': [7e-6, 'A §4.6'],
    'prefer.epochs': [3, 'A §4.6'],
    'prefer.size': [32, 'A §4.6: 1 x 4 on 8 GPUs (ours)'],
    'prefer.warmupRatio': [0.1, 'A §4.4'],
    ...llamaFactoryOptimiser,
    'trainer.adapterRank': [8, 'A §4.6'],
    'trainer.adapterAlpha': [16, 'the default of LLaMA-Factory'],
  },
  'et-agent-rft': sft(32, 10_000, 5e-6, 'E §5'),
  'tool-star-sft': sft(32, 15_000, 7e-6, 'A §4.2'),
  'arpo-sft': sft(16, 15_000, 7e-6, 'A §4.2'),
};
