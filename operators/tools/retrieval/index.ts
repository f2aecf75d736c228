/** Search over a corpus: by words, by vectors, by a service. */
export { Batches } from './batches.ts';
export { bm25Retriever } from './bm25Retriever.ts';
export { type BuildOptions, type BuildProgress, buildIndex, type CorpusRow } from './buildIndex.ts';
export { passageOf } from './corpusRow.ts';
export { type FaissFile, openFaiss } from './faissFile.ts';
export { type FusionMethod, fusedRetriever, fusionMethods } from './fusedRetriever.ts';
export { MANIFEST, PASSAGES } from './manifest.ts';
export { openRetriever } from './openRetriever.ts';
export { openPassages } from './passageFile.ts';
export { QdrantClient, type QdrantPlace, qdrantPlace } from './qdrantClient.ts';
export { fillQdrant, qdrantRetriever } from './qdrantRetriever.ts';
export { type Asks, remoteRetriever } from './remoteRetriever.ts';
export type { Hit, Passage, Retriever } from './retriever.ts';
export { passageForms, retrieverTool } from './retrieverTool.ts';
export { answerTo, askedIn, type Route, routes } from './wire.ts';
