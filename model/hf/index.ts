/** Hugging Face folders: configuration, weights, tokenizers, chat templates, adapters. */
export { readAdapter, writeAdapter } from './adapterFiles.ts';
export { addTokens } from './addTokens.ts';
export { type ChatPrompt, loadChatPrompt } from './chatPrompt.ts';
export { loadChatTokenizer } from './chatTokenizer.ts';
export { checkpointError } from './checkpointError.ts';
export { readDecoderConfig } from './decoderConfig.ts';
export { DTYPES, type Dtype } from './dtypes.ts';
export { fileDigest } from './fileDigest.ts';
export { ADAPTER_CONFIG, CONFIG_FILE } from './folderFiles.ts';
export { type OpenPolicy, openPolicy, passOver } from './loadPolicy.ts';
export {
  checkAdapter,
  type InitialAdapter,
  initialAdapter,
  type LoraAdapter,
  type LoraFactors,
  type LoraTarget,
  merged,
} from './lora.ts';
export { parameterProblems, problemText } from './parameters.ts';
export { loadAdapterFile } from './publishedAdapter.ts';
export { readJson } from './readJson.ts';
export { inMemory, type TensorSource } from './tensorSource.ts';
export { type FolderOptions, type SavedFolder, writeFolder } from './writeFolder.ts';
export { writeTensorFile } from './writeTensorFile.ts';
