/** The policy: its shape, its files, the interfaces of engines and trainers. */
export { Agreement, type AgreementRule, ruleBetween } from './agreement.ts';
export {
  type DecoderConfig,
  headDim,
  initialise,
  parameterShapes,
  type RopeScaling,
  type Tensor,
  type Tensors,
} from './config.ts';
export type {
  Checkpoint,
  EngineStats,
  GenerateRequest,
  Generation,
  Loss,
  PolicyEngine,
  SavedCheckpoint,
  SaveTarget,
  Scorer,
  SequenceScores,
  StepReport,
  Tokenizer,
  TrainBatch,
  TrainerCheckpoint,
  TrainerEngine,
  TrainSequence,
  VersionSizes,
  VersionSpan,
} from './engine.ts';
export { describeSampling, type Sampling, samplingIn } from './sampling.ts';
export { loadWordTokenizer, type WordVocabulary, wordTokenizer } from './wordTokenizer.ts';
