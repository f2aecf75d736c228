/** The topics by the names that code gives them. */
export { batches } from './batches.ts';
export { modelCalls as calls } from './calls.ts';
export { control } from './control.ts';
export { deadLetters } from './deadLetters.ts';
export { demonstrationSets as demonstrations } from './demonstrations.ts';
export { evolvedTrajectories as evolved } from './evolved.ts';
export { sessionFeedback as feedback } from './feedback.ts';
export { folds } from './folds.ts';
export { agentMcpCalls as mcpCalls } from './mcpCalls.ts';
export { metrics } from './metrics.ts';
export { preferencePairs as pairs } from './pairs.ts';
export { questions } from './questions.ts';
export { rollouts } from './rollouts.ts';
export { scoredGroups as scored } from './scored.ts';
export { selectedGroups as selected } from './selected.ts';
export { toolCalls } from './toolCalls.ts';
export { manifests as weights } from './weights.ts';
export { windows } from './windows.ts';
