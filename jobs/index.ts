/** Methods as wiring: what a job is, and its phases. */
export {
  type AgentSettings,
  agentSettings,
  agents,
  agentsOf,
  checkAgentQuestions,
} from './agent.ts';
export type { Attempt } from './attempt.ts';
export { calibrate } from './calibrate/calibrate.ts';
export { type CalibrateSettings, calibrateSettings, lrIdle } from './calibrate/settings.ts';
export {
  type ColdStartSettings,
  coldStart,
  coldStartSettings,
  type DemonstrationsFrom,
} from './coldStart.ts';
export {
  type DeepAgentParts,
  type DeepAgentSettings,
  deepAgent,
  deepAgentSettings,
  deepAgentTools,
  episodeSettings,
  episodesOf,
} from './deepAgent.ts';
export {
  defineJob,
  type Job,
  type JobContext,
  type OpenedLoop,
  type Preset,
  type Replay,
} from './defineJob.ts';
export { type EtAgentParts, type EtAgentSettings, etAgent, etAgentSettings } from './etAgent.ts';
export {
  type EvaluatedFile,
  type EvaluateParts,
  type EvaluateSettings,
  type EvaluationPlan,
  evaluate,
  evaluateSettings,
  planEvaluation,
} from './evaluate.ts';
export {
  type EveryQuestionSettings,
  everyQuestion,
  everyQuestionSettings,
} from './everyQuestion.ts';
export { type FinetuneSettings, finetune, finetuneSettings } from './finetune.ts';
export {
  type FlywheelParts,
  type FlywheelSettings,
  flywheel,
  flywheelSettings,
} from './flywheel.ts';
export { sameInputs, tokenizerFiles } from './inputs.ts';
export { keepsFew } from './keptVersions.ts';
export { type LiveSettings, mayChange } from './live.ts';
export { lossSettings } from './lossSettings.ts';
export {
  type LoopShare,
  type Method,
  type MethodPlace,
  type PlannedMethod,
  trainPolicy,
} from './method.ts';
export { type OwnAttemptsSettings, ownAttempts, ownAttemptsSettings } from './ownAttempts.ts';
export {
  type JobQuestions,
  type QuestionItems,
  type QuestionPlan,
  type RoundPlan,
  read,
} from './plan.ts';
export { type LoopOptions, type PolicyLoop, type PolicyParts, policyLoop } from './policyLoop.ts';
export { type PolicySettings, policySettings } from './policySettings.ts';
export { type PreferParts, type PreferSettings, prefer, preferSettings } from './prefer.ts';
export {
  aepoPresets,
  arpoPresets,
  deepAgentPresets,
  etAgentPresets,
  sftPresets,
  toolLightPresets,
  toolStarPresets,
} from './presets.ts';
export { policyRole, textRoles } from './roles.ts';
export { trainServed } from './served.ts';
export {
  mixSettings,
  type ToolLightParts,
  type ToolLightSettings,
  toolLight,
  toolLightSettings,
} from './toolLight.ts';
export {
  type ToolStarParts,
  type ToolStarSettings,
  toolStar,
  toolStarSettings,
} from './toolStar.ts';
