/** Settings of `millrace eval` as recorded in the run's `run.json`: what to evaluate, on what, and how. */
import { z } from 'zod';
import { environmentSetting } from '../../jobs/environment/index.ts';
import { agentSettings, episodeSettings, evaluateSettings } from '../../jobs/index.ts';
import {
  dialectSetting,
  helperSettings,
  librarySettings,
  promptSetting,
  roleSettings,
  systemSetting,
} from '../../jobs/parts/index.ts';
import {
  filesSettings,
  pythonSettings,
  toolNames,
  visionSettings,
} from '../../jobs/tools/index.ts';
import { serverSettings } from '../../model/remote/index.ts';
import { serverNames } from '../../model/remote/wires/index.ts';
import { providers } from '../../model/runtime/index.ts';
import { textModelSettings } from '../../model/text/index.ts';
import { callFaults } from '../../operators/dialect/index.ts';
import { graderNames } from '../../operators/metrics/graders/index.ts';

const count = z.number().int().positive();

const { urls, model, keyEnv, inflight, timeoutMs, awayMaxMs } = serverSettings;

/** Where the policy generates: this process, or servers that already serve it. */
const engine = z.object({
  server: z
    .enum(['embedded', ...serverNames])
    .default('embedded')
    .describe('where the policy generates: in this process or on inference servers that have it'),
  urls,
  model,
  keyEnv,
  inflight,
  timeoutMs,
  awayMaxMs,
});

export const evalSettings = evaluateSettings.extend({
  policy: z
    .string()
    .min(1)
    .describe('safetensors file, Hugging Face folder, or URL of a server that has it'),
  policyName: z.string().default('').describe('name to show for the policy'),
  tokenizer: z.string().min(1).describe('folder with tokenizer.json and the chat template'),
  promptIn: z
    .string()
    .default('')
    .describe('folder that records the policy’s prompt: that of its training run, or its own'),
  dialect: dialectSetting,
  callFaults: z
    .enum(callFaults)
    .default('answered')
    .describe('with dialect=native: whether an invalid call is answered or ends the rollout'),
  system: systemSetting,
  prompt: promptSetting,
  explained: z
    .boolean()
    .default(true)
    .describe('for older evaluations: whether an empty `system` means default or none'),
  questions: z
    .array(z.object({ path: z.string(), name: z.string().optional() }))
    .min(1)
    .describe('files of questions, and the benchmark in each'),
  limit: count.default(500).describe('questions to use from each file'),
  tools: z.array(z.enum(toolNames)).default(['python']).describe('tools that the policy may call'),
  python: pythonSettings.prefault({}).describe('limits of Python programs, and where they run'),
  files: filesSettings.prefault({}).describe('files that questions name'),
  vision: visionSettings,
  corpus: z.string().default('').describe('documents for the search tool (JSON Lines)'),
  searchTop: count.default(1).describe('documents per search result'),
  environment: environmentSetting,
  agent: agentSettings
    .prefault({})
    .describe(
      'a program or service that answers the questions by asking the policy (docs/agents.md)',
    ),
  engine: engine.prefault({}),
  threads: count.default(2).describe('engine threads'),
  provider: z
    .enum(providers)
    .default('cpu')
    .describe('device the engine computes on (docs/gpu.md)'),
  judge: textModelSettings.prefault({}).describe('model that judges answers; no url = no judge'),
  grader: z
    .enum(graderNames)
    .default('papers')
    .describe(
      'how the judge is asked and read: as the papers’ evaluations do (papers), as DeepAgent’s does (deep-agent), or as each benchmark’s authors do (authors: GAIA, HLE, SimpleQA, WebWalkerQA, xbench; otherwise as the papers)',
    ),
  roles: helperSettings.prefault({}),
  episodes: z
    .boolean()
    .default(false)
    .describe('whether the policy works in DeepAgent’s episodes (docs/deepagent.md)'),
  episode: episodeSettings.prefault({}),
  episodeTools: z
    .array(z.enum(toolNames))
    .default([])
    .describe('with episodes: tools that are functions of the library and called for real'),
  library: librarySettings.library,
  retriever: librarySettings.retriever,
  episodePrompt: count
    .default(4096)
    .describe(
      'with episodes, an environment or an agent: room for prompts, memories and what is seen, in tokens',
    ),
  auxiliary: roleSettings.prefault({ temperature: 0.7, topP: 0.8, topK: 20 }),
  simulator: roleSettings.prefault({ temperature: 0.2, maxTokens: 2048 }),
  conciseness: z.boolean().default(false).describe('have the judge also vote on redundant calls'),
});

export type EvalSettings = z.infer<typeof evalSettings>;
