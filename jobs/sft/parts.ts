/** What `sft` uses, by its settings: the policy, its data, a trainer. The job's context owns them. */
import { availableParallelism } from 'node:os';
import { sleepClock } from '../../base/index.ts';
import type { Provider } from '../../model/runtime/index.ts';
import { loadTokenizer } from '../../model/tokenizers/index.ts';
import type { JobContext } from '../defineJob.ts';
import { dialectOf, functionDialect, usualDialect } from '../dialects/dialectOf.ts';
import { checkPolicy } from '../parts/checkPolicy.ts';
import {
  type AskedBefore,
  askedBefore,
  chosenPrompt,
  type PromptSettings,
  sayPrompt,
} from '../parts/chosenPrompt.ts';
import { patienceOf } from '../parts/places.ts';
import { findPolicy } from '../parts/policyPlace.ts';
import { type PromptRecord, promptRecord, renderedPrompt } from '../parts/promptRecord.ts';
import { openTrainer, type TrainerSettings, trainingHere } from '../parts/trainers.ts';
import { openData, type SftData } from './data.ts';
import { dataPromptLines } from './dataPrompt.ts';
import type { SftSettings } from './settings.ts';
import type { SftParts } from './sft.ts';

/** The settings of the job, with all defaults filled in. */
export interface SftJobSettings extends SftSettings, Omit<PromptSettings, 'prompt'> {
  readonly policy: string;
  readonly trainer: TrainerSettings;
  readonly threads: number;
  readonly provider: Provider;
}

/**
 * Fails with `POLICY`, `MEMORY`, `USAGE`, `DATA_FILE` or the code of what cannot be read, before anything is
 * trained.
 */
export async function sftParts(context: JobContext<SftJobSettings>): Promise<SftParts> {
  const { settings, own, run, folder, seed, clock, print } = context;
  const { tokensMax: contextMax, provider } = settings;
  const policy = await findPolicy(settings.policy);
  await checkPolicy(policy, {
    generates: null,
    trains: trainingHere(settings.trainer),
    contextMax,
    limits: 'tokensMax is',
    provider,
    print,
  });
  const tokenizer = await loadTokenizer(policy.folder);
  const before = await askedBefore(context, policy);
  // No tool is called, but the policy's prompt may have named some.
  const tools = before?.prompt.tools ?? [];
  const chosen = await chosenPrompt(settings, before, { tools, unset: 'none' });
  const dialect = await dialectOf({ ...chosen, folder: policy.folder, tools });
  const data = await openData(settings, { tokenizer, folder, round: 1, print });
  const prompt = data.asTheyAre
    ? await ofConversations(data, { settings, before, folder: policy.folder })
    : promptRecord(dialect);
  sayPrompt(context, before, prompt);
  if (data.asTheyAre && settings.system !== '') {
    print(
      'system is not used: conversations keep their own system prompts (prompt=policy would use it)',
    );
  }
  if (!data.asTheyAre) for (const line of dataPromptLines(data, prompt)) print(line);
  const trainer = await openTrainer(settings.trainer, {
    policy: policy.path,
    policyName: policy.name,
    tokenizer,
    contextMax,
    threads: settings.threads || availableParallelism(),
    provider,
    run,
    folder,
    seed,
    clock: sleepClock(clock),
    patienceMs: patienceOf(context),
    print,
  });
  return {
    trainer: own(trainer),
    base: policy.path,
    prompt,
    data,
    encode: (question, text) => dialect.encodeExample(question, text, settings.results),
  };
}

interface Conversations {
  readonly settings: SftJobSettings;
  readonly before: AskedBefore | null;
  /** Of the tokenizer. */
  readonly folder: string;
}

/**
 * How conversations prompt that are learnt as they are; with functions, the policy learns to call them in its
 * own way.
 */
async function ofConversations(
  { asked: known }: SftData,
  { settings, before, folder }: Conversations,
): Promise<PromptRecord> {
  const { system, functions } = known ?? { system: null, functions: null };
  const { dialect: set } = settings;
  const { name: usual } = await chosenPrompt({ dialect: set, system: 'none' }, before, {
    tools: [],
  });
  const name = set === 'auto' && functions !== null && functions !== '' ? functionDialect : usual;
  const asked = { dialect: name, system, tools: null };
  if (system === null || functions !== '') return { ...asked, prompt: null };
  const dialect = await dialectOf({ name: usualDialect, folder, tools: [], system });
  return { ...asked, prompt: renderedPrompt(dialect) };
}
