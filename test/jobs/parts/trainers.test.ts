/** Trainers and engines by settings, as far as they are refused before anything is opened. */
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import { engineSettings, openEngine } from '../../../jobs/parts/engines.ts';
import type { TrainerPlace } from '../../../jobs/parts/places.ts';
import { openTrainer, trainerSettings } from '../../../jobs/parts/trainers.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import { strongWeights, TINY } from '../../model/rollout/tinyPolicy.ts';
import { fakeTrainer } from '../../support/fakeTrainer.ts';
import { freshFolders } from '../../support/folder.ts';
import { tinkerServer } from '../../support/tinkerServer.ts';
import { tinyWords } from '../../support/tinyWords.ts';

const fresh = freshFolders();
const place: TrainerPlace = {
  ...{ policy: '/models/table', policyName: 'table', tokenizer: tinyWords, contextMax: 64 },
  ...{ threads: 1, provider: 'cpu', run: 'run', folder: '/nowhere', seed: 1 },
  clock: sleepClock(systemClock),
  patienceMs: Number.POSITIVE_INFINITY,
  print: () => undefined,
};

test('a training service needs an address, and other trainers take none', async () => {
  await expect(openTrainer(trainerSettings.parse({ kind: 'tinker' }), place)).rejects.toMatchObject(
    {
      code: 'USAGE',
      message: expect.stringContaining('--set trainer.url='),
    },
  );
  const embedded = trainerSettings.parse({ url: 'http://127.0.0.1:1' });
  await expect(openTrainer(embedded, place)).rejects.toMatchObject({ code: 'USAGE' });
});

test('a training service gets the settings, with the policy by name or by path', async () => {
  const server = await tinkerServer();
  const settings = { kind: 'tinker', url: server.url, rank: 4, waitSeconds: 1 };
  const trainer = await openTrainer(trainerSettings.parse(settings), place);
  const asked = server.seen.filter(({ route }) => route === 'create_model').map(({ body }) => body);
  expect(asked[0]).toMatchObject({ base_model: 'table', lora_config: { rank: 4, seed: 1 } });
  const engine = await openEngine(engineSettings.parse({ server: 'tinker' }), {
    ...place,
    ...{ trainer, swap: 'rollout' },
  });
  expect(engine.contextMax).toBe(64);
  await engine.close();
  await trainer.close();
  await server.close();
});

test('a look at the start waits for no server that does not answer, however long a run would', async () => {
  const policy = join(fresh(), 'policy.safetensors');
  await savePolicy(policy, { config: TINY, tensors: strongWeights(TINY, 1) });
  const impatient = { ...place, policy, patienceMs: 0 };
  const url = 'http://127.0.0.1:9';
  const trainer = trainerSettings.parse({ kind: 'tinker', url, waitSeconds: 1e6 });
  await expect(openTrainer(trainer, impatient)).rejects.toMatchObject({ code: 'TRAINER_DOWN' });
  const engine = engineSettings.parse({ server: 'vllm', urls: url, awayMaxMs: 1e9 });
  const opened = openEngine(engine, { ...impatient, trainer: fakeTrainer(), swap: 'rollout' });
  await expect(opened).rejects.toMatchObject({ code: 'MODEL_DOWN' });
});

test('an engine on the training service needs a trainer there', async () => {
  const opened = openEngine(engineSettings.parse({ server: 'tinker' }), {
    ...place,
    ...{ trainer: fakeTrainer(), swap: 'rollout' },
  });
  await expect(opened).rejects.toMatchObject({ code: 'USAGE' });
});
