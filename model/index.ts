/** The policy: its shape, its files, the interfaces of engines and trainers. */
export { loadAdapterFile } from './adapterFile.ts';
export { Agreement, type AgreementRule } from './agreement.ts';
export { type DecoderConfig, type RopeScaling, type Tensor, type Tensors, headDim, initialise, parameterShapes } from './config.ts';
export type { Checkpoint, EngineStats, GenerateRequest, Generation, Loss, PolicyEngine, SaveTarget, SavedCheckpoint, Scorer, StepReport, Tokenizer, TrainBatch, TrainSequence, TrainerCheckpoint, TrainerEngine, VersionSpan } from './engine.ts';
export { type Sampling, describeSampling, samplingIn, samplingSettings } from './sampling.ts';
export { type WordVocabulary, loadWordTokenizer, wordTokenizer } from './wordTokenizer.ts';
