/** Settings of `millrace eval` as they stand in the run's `run.json`: what is evaluated, on what, and how. */
import { z } from 'zod';
import { evaluateSettings } from '../../jobs/evaluate.ts';
import { dialectSetting, systemSetting } from '../../jobs/parts/chosenPrompt.ts';
import { pythonSettings } from '../../jobs/parts/pythonOf.ts';
import { serverSettings } from '../../model/remote/serverEngine.ts';
import { providers } from '../../model/runtime/provider.ts';
import { textModelSettings } from '../../model/text/configured.ts';
import { callFaults } from '../../operators/dialect/callFaults.ts';

const count = z.number().int().positive();

export const toolNames = ['python', 'search'] as const;
export type ToolName = (typeof toolNames)[number];

const { urls, model, keyEnv, inflight, timeoutMs, awayMaxMs } = serverSettings;

/** Who generates: this process, or servers with what they serve already. */
const engine = z.object({
  server: z
    .enum(['embedded', 'vllm', 'sglang'])
    .default('embedded')
    .describe('who generates: this process, or inference servers that have the policy'),
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
  policyName: z.string().default('').describe('what people call it'),
  tokenizer: z.string().min(1).describe('folder with tokenizer.json and the chat template'),
  promptIn: z
    .string()
    .default('')
    .describe('folder that says how the policy is asked: of the run that trained it, or its own'),
  dialect: dialectSetting,
  callFaults: z
    .enum(callFaults)
    .default('answered')
    .describe('native: on invalid calls: answered, or the rollout ends'),
  system: systemSetting,
  explained: z
    .boolean()
    .default(true)
    .describe('of older evaluations: whether an empty `system` is default, or none'),
  questions: z
    .array(z.object({ path: z.string(), name: z.string().optional() }))
    .min(1)
    .describe('files of questions, and the benchmarks that they hold'),
  limit: count.default(500).describe('number of questions to take from each file'),
  tools: z.array(z.enum(toolNames)).default(['python']).describe('tools that the policy may call'),
  python: pythonSettings.prefault({}).describe('limits of Python programs, and who runs them'),
  corpus: z.string().default('').describe('documents of the search tool (JSON Lines)'),
  searchTop: count.default(1).describe('documents in a result of the search tool'),
  engine: engine.prefault({}),
  threads: count.default(2).describe('threads of the engine'),
  provider: z.enum(providers).default('cpu').describe('what the engine computes on (docs/gpu.md)'),
  judge: textModelSettings.prefault({}).describe('who judges answers; no url = no judge'),
  conciseness: z.boolean().default(false).describe('the judge also votes on redundant calls'),
});

export type EvalSettings = z.infer<typeof evalSettings>;
