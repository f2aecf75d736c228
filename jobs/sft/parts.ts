/** What `sft` runs on, by its settings: the policy, its data, a trainer. The job's context owns them. */
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { sleepClock } from '../../base/sleepClock.ts';
import { loadTokenizer } from '../../model/hf/loadTokenizer.ts';
import type { Provider } from '../../model/runtime/provider.ts';
import type { JobContext } from '../defineJob.ts';
import { checkPolicy } from '../parts/checkPolicy.ts';
import { type DialectName, dialectOf } from '../parts/dialectOf.ts';
import { findPolicy } from '../parts/policyPlace.ts';
import { openTrainer, type TrainerSettings } from '../parts/trainers.ts';
import { openData } from './data.ts';
import type { SftSettings } from './settings.ts';
import type { SftParts } from './sft.ts';

/** The settings of the job, with all defaults filled in. */
export interface SftJobSettings extends SftSettings {
  readonly policy: string;
  readonly dialect: DialectName;
  /** File with the system prompt of `prompt=policy`; '' = none. */
  readonly system: string;
  readonly trainer: TrainerSettings;
  readonly threads: number;
  readonly provider: Provider;
}

/** Fails with `POLICY`, `MEMORY`, `USAGE`, `DATA_FILE` or the code of what cannot be read, before anything is trained. */
export async function sftParts(context: JobContext<SftJobSettings>): Promise<SftParts> {
  const { settings, own, run, folder, seed, clock, print } = context;
  const { tokensMax: contextMax, provider } = settings;
  const policy = await findPolicy(settings.policy);
  await checkPolicy(policy, {
    generates: false,
    trains: settings.trainer.kind === 'embedded',
    contextMax,
    limits: 'tokensMax is',
    provider,
    print,
  });
  const tokenizer = await loadTokenizer(policy.folder);
  const system = settings.system === '' ? '' : await readFile(settings.system, 'utf8');
  const dialect = await dialectOf({
    name: settings.dialect,
    folder: policy.folder,
    tools: [],
    system: system.trim(),
  });
  const data = await openData(settings, { tokenizer, folder, stage: 1, print });
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
    print,
  });
  return {
    trainer: own(trainer),
    base: policy.path,
    data,
    encode: (question, text) => dialect.encodeExample(question, text, settings.results),
  };
}
