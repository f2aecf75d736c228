import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import { digestAt } from '../../../model/checkpoints/digest.ts';
import type { Loss, TrainSequence } from '../../../model/engine.ts';
import { readAdapter, writeAdapter } from '../../../model/hf/adapterFiles.ts';
import { loadAdapterFile } from '../../../model/hf/publishedAdapter.ts';
import { TinkerTrainer, type TinkerTrainerOptions } from '../../../model/tinker/trainer.ts';
import { modulesOf } from '../../support/adapterArchive.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { lossGraphs } from '../../support/lossGraph.ts';
import {
  addSlope,
  baseTable,
  type Fate,
  giveOnce,
  skyrlJax,
  summing,
  type TinkerDialect,
  type TinkerServer,
  tableLogProb,
  tinkerServer,
  VOCABULARY,
} from '../../support/tinkerServer.ts';
import { until } from '../../support/until.ts';

const closing: (() => Promise<unknown>)[] = [];

/** What all tests of a group use. */
const closedLater: typeof closing = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(async () => {
  for (const close of closedLater.reverse()) await close();
});

const dialects = { skyrlJax, summing, giveOnce } as const;
type DialectName = keyof typeof dialects;
const dialectNames = Object.keys(dialects) as DialectName[];

interface Opened {
  readonly server: TinkerServer;
  readonly trainer: TinkerTrainer;
  readonly said: string[];
  readonly folder: string;
}

async function folderFor(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-tinker-'));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function serving(dialect: Partial<TinkerDialect> = {}): Promise<TinkerServer> {
  const server = await tinkerServer({ ...skyrlJax, ...dialect });
  closing.push(() => server.close());
  return server;
}

async function trainerOn(
  server: TinkerServer,
  options: Partial<TinkerTrainerOptions> = {},
): Promise<{ trainer: TinkerTrainer; said: string[] }> {
  const said: string[] = [];
  const trainer = await TinkerTrainer.create({
    url: server.url,
    policy: 'table',
    clock: sleepClock(systemClock),
    awayMs: 5_000,
    print: (line) => said.push(line),
    adam,
    ...options,
  });
  closing.push(() => trainer.close());
  // those of trying the service out
  server.steps.splice(0);
  return { trainer, said };
}

async function opened(
  dialect: Partial<TinkerDialect> = {},
  options: Partial<TinkerTrainerOptions> = {},
): Promise<Opened> {
  const server = await serving(dialect);
  return { server, ...(await trainerOn(server, options)), folder: await folderFor() };
}

const adam = { beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0 };

/** Numbers between -1 and 1 that look like chance. */
const some = (seed: number) => Math.sin(seed * 78.233 + 0.5);

function sequence(seed: number, length: number, prompt: number): TrainSequence {
  const tokens = Int32Array.from({ length }, (_, i) =>
    Math.floor(((some(31 * seed + i) + 1) / 2) * (VOCABULARY - 1e-9)),
  );
  const logProbs = tokens.map(() => 0);
  const now = Float32Array.from(logProbs, (_, place) =>
    place === 0 ? 0 : tableLogProb(baseTable(), tokens[place - 1]!, tokens[place]!),
  );
  return {
    tokens,
    mask: Uint8Array.from(tokens, (_, place) => (place >= prompt ? 1 : 0)),
    advantages: Float32Array.from(tokens, (_, place) => some(7 * seed + place)),
    oldLogProbs: now.map((value, place) => value + 0.6 * some(seed + 3 * place)),
    refLogProbs: now.map((value, place) => value + 0.5 * some(seed + 5 * place)),
  };
}

/** Of unequal lengths, with results in the middle that are not trained on. */
const batch: readonly TrainSequence[] = [
  sequence(1, 14, 5),
  sequence(2, 9, 2),
  {
    ...sequence(3, 21, 4),
    mask: Uint8Array.from({ length: 21 }, (_, i) => (i > 3 && i % 5 > 1 ? 1 : 0)),
  },
  sequence(4, 6, 3),
];

const losses: Readonly<Record<string, Loss>> = {
  sft: { name: 'sft' },
  'clipped policy loss': { name: 'clipped', settings: { clipC: 1e6 } },
  'dual-clipped policy loss': { name: 'clipped', settings: { clipC: 1.2 } },
  'policy loss with a KL': { name: 'clipped', settings: { kl: { coefficient: 0.2 } } },
  'sequence means': { name: 'clipped', settings: { aggregation: 'seq-mean-token-mean' } },
  cispo: { name: 'cispo', settings: { clipHigh: 0.3 } },
  gspo: { name: 'gspo', settings: { clipLow: 0.1, clipHigh: 0.1 } },
  dpo: { name: 'dpo', settings: { beta: 0.4 } },
};

/**
 * The gradient of our loss in the table's logits, and the loss: by our graph in float64, and the table's own
 * slopes.
 */
async function expected(
  loss: Loss,
  sequences: readonly TrainSequence[],
  table = baseTable(),
): Promise<{ gradient: Float64Array; loss: number }> {
  const graphs = lossGraphs();
  const rows = (values: (item: TrainSequence) => ArrayLike<number>) =>
    sequences.map((item) => Array.from(values(item)).slice(1));
  const result = await graphs.run(loss, {
    logProbs: sequences.map(({ tokens }) =>
      [...tokens].slice(1).map((token, i) => tableLogProb(table, tokens[i]!, token)),
    ),
    mask: rows(({ mask }) => mask),
    advantages: rows(({ advantages }) => advantages),
    oldLogProbs: rows(({ oldLogProbs }) => oldLogProbs),
    refLogProbs: rows(({ refLogProbs }) => refLogProbs ?? []),
  });
  await graphs.close();
  const gradient = new Float64Array(VOCABULARY * VOCABULARY);
  for (const [row, { tokens }] of sequences.entries())
    for (let place = 1; place < tokens.length; place++)
      addSlope(gradient, table, {
        ...{ before: tokens[place - 1]!, next: tokens[place]! },
        slope: result.gradient[row]![place - 1]!,
      });
  return { gradient, loss: result.loss };
}

function far(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i]!)));
}

describe.each(dialectNames)('on %s', (name) => {
  let service: Opened;
  beforeAll(async () => {
    service = await opened(dialects[name]);
    closedLater.push(...closing.splice(0));
  });

  // At so small a learning rate each step starts from the same weights.
  test.each(Object.keys(losses))('a step has the gradient of the embedded %s', async (kind) => {
    const { server, trainer } = service;
    const loss = losses[kind]!;
    const wanted = await expected(loss, batch);
    const report = await trainer.step({ sequences: batch, loss, lr: 1e-12 });
    const made = server.steps.splice(0);
    expect(made).toHaveLength(1);
    expect(far(made[0]!, wanted.gradient)).toBeLessThan(1e-6);
    expect(report.loss).toBeCloseTo(wanted.loss, 5);
    expect(report.gradNorm).toBeCloseTo(Math.hypot(...wanted.gradient), 5);
    expect(report).toMatchObject({ applied: true, entropy: null, tokens: 13 + 8 + 19 + 5 });
  });
});

test.each(['sft', 'dual-clipped policy loss', 'dpo'])(
  'a batch split over many requests has the same gradient: %s',
  async (kind) => {
    const { server, trainer } = await opened({}, { limits: { datums: 2, bytes: 5e6 } });
    const loss = losses[kind]!;
    await trainer.step({ sequences: batch, loss, lr: 0.1 });
    const passes = server.seen.filter(
      ({ route, body }) =>
        route === 'forward_backward' &&
        body.seq_id > 1 &&
        body.forward_backward_input.data.length === 2,
    );
    expect(passes.length).toBe(2);
    expect(far(server.steps[0]!, (await expected(loss, batch)).gradient)).toBeLessThan(1e-6);
  },
);

test.each(dialectNames)('fine-tuning requests gradients without log-probs: %s', async (name) => {
  const { server, trainer } = await opened(dialects[name]);
  const passes = (route: string) =>
    server.seen.filter(
      ({ route: asked, body }) =>
        asked === route && body[`${route}_input`].data.length === batch.length,
    ).length;
  await trainer.step({ sequences: batch, loss: losses.sft!, lr: 0.1 });
  expect([passes('forward'), passes('forward_backward')]).toEqual([0, 1]);
  await trainer.step({ sequences: batch, loss: losses['clipped policy loss']!, lr: 0.1 });
  expect([passes('forward'), passes('forward_backward')]).toEqual([1, 2]);
});

test('a training service is probed on a model that is released again', async () => {
  for (const name of dialectNames) {
    const dialect = dialects[name];
    const { server, trainer } = await opened(dialect);
    const { reduction, deduplicates, adam } = dialect;
    expect(trainer.found).toMatchObject({ reduction, deduplicates, adam });
    expect(server.models.size).toBe(0);
  }
});

test('a training service that restarts during the probe is probed again', async () => {
  const server = await serving();
  let passes = 0;
  server.fate = ({ route }) => {
    if (route === 'forward_backward' && ++passes === 2) server.restart();
    return undefined;
  };
  const { trainer, said } = await trainerOn(server);
  expect(trainer.found.reduction).toBe('sequence-mean');
  expect(said.join()).toContain('trying again');
});

test('gradient clipping is done by a service that can, and is an error otherwise', async () => {
  const wish = { adam: { ...adam, gradNormMax: 0.5 } };
  const { trainer } = await opened(summing, wish);
  expect(trainer.found.clips).toBe(true);
  await expect(opened(skyrlJax, wish)).rejects.toMatchObject({ code: 'TRAINER_SETTING' });
});

test('a service that accepts only the learning rate is reported', async () => {
  expect((await opened(giveOnce)).said.join()).toContain('accepts only the learning rate');
  expect((await opened(skyrlJax)).said).toEqual([]);
});

test.each([
  { name: 'clipped', settings: { entropyCoefficient: 0.01 } },
  { name: 'clipped', settings: { aepo: { advantageWeight: 0.2 } } },
])('a loss that needs entropies is refused before anything is trained: %j', async (loss) => {
  const { server, trainer } = await opened();
  const before = server.seen.filter(({ route }) => route === 'forward_backward').length;
  await expect(trainer.check(loss)).rejects.toMatchObject({ code: 'LOSS_UNSUPPORTED' });
  await expect(trainer.step({ sequences: batch, loss, lr: 0.1 })).rejects.toMatchObject({
    code: 'LOSS_UNSUPPORTED',
  });
  expect(server.seen.filter(({ route }) => route === 'forward_backward')).toHaveLength(before);
  expect(server.steps).toHaveLength(0);
});

test('losses that need no entropies are recognised', async () => {
  const { trainer } = await opened();
  for (const loss of Object.values(losses)) await trainer.check(loss);
  await expect(trainer.check({ name: 'none' })).rejects.toMatchObject({ code: 'NO_LOSS' });
});

test('sequences that a service would pad or confuse are refused', async () => {
  const { trainer } = await opened();
  const item = sequence(1, 8, 3);
  const wrong: [TrainSequence, RegExp][] = [
    [{ ...item, advantages: item.advantages.slice(1) }, /8 tokens but 7 values of advantages/],
    [{ ...item, mask: item.mask.map((value) => 2 * value) }, /has 2 in its mask/],
    [{ ...item, tokens: item.tokens.map((_, i) => -i) }, /token -1/],
    [{ ...item, mask: item.mask.map(() => 0) }, /no target tokens/],
  ];
  for (const [each, message] of wrong) {
    const step = trainer.step({ sequences: [each], loss: losses.sft!, lr: 0.1 });
    await expect(step).rejects.toThrow(message);
  }
});

/** Loses something of the n-th request (from 1) of a route, once it is armed. */
function losing(server: TinkerServer, route: string, fate: Fate, nth = 1): void {
  let left = nth;
  server.fate = (request) => {
    if (request.route !== route || --left !== 0) return undefined;
    return fate;
  };
}

const policyLoss = losses['dual-clipped policy loss']!;

async function steps(server: TinkerServer, trainer: TinkerTrainer, count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    await trainer.step({ sequences: batch, loss: policyLoss, lr: 0.05 * (i + 1) });
  expect(server.steps.length).toBeGreaterThanOrEqual(count);
}

/** The weights that a model would have without any accident. */
async function undisturbed(dialect: TinkerDialect, count: number): Promise<Float64Array> {
  const { server, trainer } = await opened(dialect);
  await steps(server, trainer, count);
  return [...server.models.values()][0]!.weights.slice();
}

/** Which request is lost in each two steps, and the weights after these without any accident. */
const LOST = [1, 2, 5];
const afterTwo = new Map<DialectName, Promise<readonly Float64Array[]>>();

const twoSteps = async (trainer: TinkerTrainer): Promise<void> => {
  for (const lr of [0.1, 0.15]) await trainer.step({ sequences: batch, loss: policyLoss, lr });
};

async function withoutAccident(dialect: TinkerDialect): Promise<readonly Float64Array[]> {
  const { server, trainer } = await opened(dialect);
  await steps(server, trainer, 1);
  const found: Float64Array[] = [];
  for (const _ of LOST) {
    await twoSteps(trainer);
    found.push([...server.models.values()][0]!.weights.slice());
  }
  return found;
}

test.each(
  dialectNames.flatMap((dialect) =>
    (
      [
        ['forward', 'lost after'],
        ['forward_backward', 'lost before'],
        ['forward_backward', 'lost after'],
        ['optim_step', 'lost after'],
        ['retrieve_future', 'lost after'],
        ['forward_backward', { status: 503 }],
      ] as const
    ).map(([route, fate]) => [dialect, route, fate] as const),
  ),
)('on %s a reply that is lost trains no batch twice: %s %j', async (name, route, fate) => {
  if (!afterTwo.has(name)) afterTwo.set(name, withoutAccident(dialects[name]));
  const wanted = await afterTwo.get(name)!;
  const { server, trainer } = await opened(dialects[name], {
    limits: { datums: 2, bytes: 5e6 },
    clock: impatientClock((ms) => ms >= 10_000),
  });
  await steps(server, trainer, 1);
  for (const [i, nth] of LOST.entries()) {
    losing(server, route, fate, nth);
    await twoSteps(trainer);
    const live = [...server.models.values()];
    expect(live).toHaveLength(1);
    expect(far(live[0]!.weights, wanted[i]!)).toBeLessThan(1e-5);
  }
});

test('nothing is repeated at a service that knows requests by number', async () => {
  const { server, trainer, said } = await opened(summing);
  losing(server, 'optim_step', 'lost after');
  await steps(server, trainer, 2);
  expect(server.steps).toHaveLength(2);
  expect(said.join()).not.toContain('repeated');
});

test.each([false, true])(
  'a service that is started again (without its database: %s) goes on from the last saved state',
  async (all) => {
    const wanted = await undisturbed(skyrlJax, 3);
    const { server, trainer, folder, said } = await opened();
    await steps(server, trainer, 1);
    await trainer.save({ version: 1, folder });
    await trainer.step({ sequences: batch, loss: policyLoss, lr: 0.1 });
    server.down(true);
    const missed = until(() => said.some((line) => line.includes('has not answered')));
    void missed.then(() => {
      server.restart(all);
      server.down(false);
    });
    await trainer.step({ sequences: batch, loss: policyLoss, lr: 0.15 });
    expect(far([...server.models.values()][0]!.weights, wanted)).toBeLessThan(1e-5);
    const told = said.filter((line) => line.includes('has not answered'));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(
      /^training service http:\S+ has not answered \w+ for 0 s \(.+\): check that it is running and read its log\. Work resumes by itself once it answers; after 5 s the run ends and can be started again$/,
    );
    expect(said.join('\n')).toMatch(/training service http:\S+ answers again, after \d+ s/);
    expect(said.join('\n')).toMatch(
      /weights\/v000001-1 is loaded again, and the step since is repeated/,
    );
  },
);

test('an archive that breaks off is asked for once more, and leaves nothing beside its file', async () => {
  const { server, trainer, folder } = await opened();
  await steps(server, trainer, 1);
  let asked = 0;
  server.fate = ({ route }) =>
    route.endsWith('/archive') && ++asked === 1 ? 'cut short' : undefined;
  const { weights } = await trainer.save({ version: 1, folder });
  expect(asked).toBe(2);
  expect(await readdir(folder)).toEqual(['000001.safetensors']);
  expect(await digestAt(weights.uri)).toBe(weights.digest);
});

test('a model that something else has trained is rebuilt before the next step', async () => {
  const wanted = await undisturbed(skyrlJax, 2);
  const { server, trainer, said } = await opened();
  await steps(server, trainer, 1);
  [...server.models.values()][0]!.weights[30]! += 2;
  await trainer.step({ sequences: batch, loss: policyLoss, lr: 0.1 });
  expect(far([...server.models.values()][0]!.weights, wanted)).toBeLessThan(1e-5);
  expect(said.join()).toContain('changed by something else');
});

test('a service that does not come back is waited for once, not again to release models and to close', async () => {
  const clock = impatientClock((ms) => ms >= 10_000);
  const { server, trainer, said } = await opened(skyrlJax, { clock, awayMs: 60_000 });
  await steps(server, trainer, 1);
  server.down(true);
  const startedMs = clock.now();
  const step = trainer.step({ sequences: batch, loss: policyLoss, lr: 0.1 });
  await expect(step).rejects.toMatchObject({
    code: 'TRAINER_DOWN',
    message: expect.stringMatching(
      /has not answered forward for 60 s: .*restart it with the same database and checkpoints.*then start the run again/,
    ),
  });
  await trainer.close();
  expect(clock.now() - startedMs).toBe(60_000);
  const told = said.filter((line) => line.includes('has not answered forward for'));
  expect(told.map((line) => /for (\d+) s/.exec(line)?.[1])).toEqual(['0', '16', '31', '46']);
});

test('a model that a service took back is not waited for when the trainer closes', async () => {
  const clock = impatientClock((ms) => ms >= 10_000);
  const { server, trainer } = await opened(skyrlJax, { clock, awayMs: 60_000 });
  await steps(server, trainer, 1);
  server.down(true);
  const startedMs = clock.now();
  await trainer.close();
  expect(clock.now() - startedMs).toBe(0);
});

test('a failure of the service is reported in its words, and nothing of the batch stays', async () => {
  const wanted = await undisturbed(summing, 2);
  const { server, trainer } = await opened(summing);
  await steps(server, trainer, 1);
  losing(server, 'forward_backward', { status: 400, body: { detail: 'out of memory on rank 3' } });
  const step = () => trainer.step({ sequences: batch, loss: policyLoss, lr: 0.1 });
  await expect(step()).rejects.toMatchObject({
    code: 'TRAINER_REFUSED',
    message: expect.stringContaining('out of memory on rank 3'),
  });
  await step();
  expect(far([...server.models.values()][0]!.weights, wanted)).toBeLessThan(1e-5);
});

test('a result that the service cannot write ends the step', async () => {
  const server = await serving();
  const { trainer } = await trainerOn(server, {
    clock: impatientClock((ms) => ms >= 10_000),
    awayMs: 600_000,
  });
  server.fate = ({ route }) => (route === 'retrieve_future' ? { status: 500 } : undefined);
  const step = trainer.step({ sequences: batch, loss: policyLoss, lr: 0.1 });
  await expect(step).rejects.toMatchObject({ code: 'TRAINER_REFUSED' });
});

test.each([
  [500, '{"detail":"Out of range float values are not JSON compliant: nan"}'],
  [503, '{"detail":"loss is NaN"}'],
  [200, '{"loss_fn_outputs":[{"logprobs":{"data":[NaN,NaN]}}]}'],
])('a service that answers NaN (%d %s) is reported at once', async (status, body) => {
  const server = await serving();
  const clock = impatientClock((ms) => ms >= 10_000);
  const { trainer, said } = await trainerOn(server, { clock, awayMs: 600_000 });
  said.splice(0);
  let asked = 0;
  server.fate = ({ route }) => {
    if (route !== 'retrieve_future') return undefined;
    asked++;
    return { status, body };
  };
  const step = trainer.step({ sequences: batch, loss: policyLoss, lr: 0.1 });
  await expect(step).rejects.toMatchObject({
    code: 'TRAINER_REPLY',
    message: expect.stringMatching(/answered .*NaN/),
  });
  // Requests that were under way together ask once each.
  expect(asked).toBeLessThanOrEqual(4);
  expect(said).toEqual([]);
});

test('a step that leads to NaN weights changes nothing', async () => {
  const { server, trainer } = await opened();
  await steps(server, trainer, 1);
  let optimised = false;
  server.fate = ({ route }) => {
    if (route === 'optim_step') optimised = true;
    if (route !== 'retrieve_future' || !optimised) return undefined;
    return {
      status: 200,
      body: '{"metrics":{"skyrl.ai/grad_norm":NaN},"loss_fn_outputs":[{"logprobs":{"data":[NaN]}}]}',
    };
  };
  const report = await trainer.step({ sequences: batch, loss: policyLoss, lr: 0.1 });
  expect(report.applied).toBe(false);
  server.fate = () => undefined;
  await trainer.step({ sequences: batch, loss: policyLoss, lr: 0.1 });
  const wanted = await undisturbed(skyrlJax, 2);
  expect(far([...server.models.values()].at(-1)!.weights, wanted)).toBeLessThan(1e-5);
});

test('an infinite loss ends the step', async () => {
  const { server, trainer } = await opened();
  server.fate = ({ route }) => (route === 'forward_backward' ? 'lost after' : undefined);
  const step = trainer.step({ sequences: batch, loss: policyLoss, lr: 0.1 });
  await expect(step).rejects.toMatchObject({ code: 'TRAINER_LOST' });
});

test('a gradient that is not finite changes nothing', async () => {
  const { server, trainer } = await opened();
  await steps(server, trainer, 1);
  const bad = batch.map((item) => ({ ...item, advantages: item.advantages.map(() => Number.NaN) }));
  const report = await trainer.step({ sequences: bad, loss: policyLoss, lr: 0.1 });
  expect(report.applied).toBe(false);
  await trainer.step({ sequences: batch, loss: policyLoss, lr: 0.1 });
  const wanted = await undisturbed(skyrlJax, 2);
  expect(far([...server.models.values()][0]!.weights, wanted)).toBeLessThan(1e-5);
});

test('a saved state is resumed by another process after the first was killed', async () => {
  const wanted = await undisturbed(skyrlJax, 3);
  const { server, trainer, folder } = await opened();
  await steps(server, trainer, 2);
  const saved = await trainer.save({ version: 2, folder });
  expect(saved.state?.uri).toMatch(/^tinker:\/\/model_\d+\/weights\/v000002-1$/);
  // what came after the save dies with the process
  await trainer.step({ sequences: batch, loss: losses.sft!, lr: 0.5 });
  const next = await trainerOn(server);
  await next.trainer.restore(saved, 'train');
  await next.trainer.step({ sequences: batch, loss: policyLoss, lr: 0.15 });
  const weights = [...server.models.values()].at(-1)!.weights;
  expect(far(weights, wanted)).toBeLessThan(1e-5);
});

test('a save leaves the adapter as a file that engines load and PEFT can be given', async () => {
  const { trainer, folder: parent } = await opened();
  const folder = join(parent, 'weights');
  const saved = await trainer.save({ version: 3, folder });
  expect(saved.weights).toMatchObject({ version: 3, uri: join(folder, '000003.safetensors') });
  const adapter = await loadAdapterFile(saved.weights.uri, saved.weights.digest ?? '');
  const modules = [0, 1].flatMap((layer) =>
    ['mlp.up_proj', 'self_attn.q_proj'].map((module) => `model.layers.${layer}.${module}`),
  );
  expect(adapter).toMatchObject({ rank: 2, alpha: 32, base: 'table' });
  expect(modulesOf(adapter!)).toEqual(modules);
  await writeAdapter(join(folder, 'peft'), adapter!);
  const { readFile } = await import('node:fs/promises');
  const config = JSON.parse(await readFile(join(folder, 'peft', 'adapter_config.json'), 'utf8'));
  expect(config.target_modules.sort()).toEqual(['q_proj', 'up_proj']);
  expect(modulesOf(await readAdapter(join(folder, 'peft')))).toEqual(modules);
});

test('an adapter for a policy that is here says which bytes that policy has', async () => {
  const folder = await folderFor();
  const policy = join(folder, 'policy.safetensors');
  await writeFile(policy, 'the policy');
  const { trainer } = await opened({}, { policy, baseModels: ['table'] });
  const { weights } = await trainer.save({ version: 1, folder });
  const adapter = await loadAdapterFile(weights.uri);
  expect(adapter).toMatchObject({ base: policy, baseDigest: await digestAt(policy) });
});

test('a version that is saved twice has two places and one digest', async () => {
  const { trainer, folder } = await opened();
  const first = await trainer.save({ version: 1, folder });
  const second = await trainer.save({ version: 1, folder });
  expect(second.weights).toEqual(first.weights);
  expect(second.state?.uri).not.toBe(first.state?.uri);
});

test('a reference version is scored next to the one that is trained', async () => {
  const { server, trainer, folder } = await opened();
  const first = await trainer.save({ version: 0, folder });
  await steps(server, trainer, 1);
  const second = await trainer.save({ version: 1, folder });
  const tokens = [batch[0]!.tokens];
  const logProbs = (table: Float64Array) =>
    tokens[0]!.map(() => 0) &&
    [...tokens[0]!].slice(1).map((token, i) => tableLogProb(table, tokens[0]![i]!, token));
  const now = [...server.models.values()][0]!.weights.slice();
  await trainer.restore(first, 'score');
  const [before] = await trainer.score(tokens);
  expect(far(before!.logProbs.slice(1), logProbs(baseTable()))).toBeLessThan(1e-5);
  await trainer.restore(second, 'train');
  const [after] = await trainer.score(tokens);
  expect(far(after!.logProbs.slice(1), logProbs(now))).toBeLessThan(1e-5);
  expect(server.models.size).toBe(2);
  await trainer.close();
  closing.pop();
  expect(server.models.size).toBe(0);
});

test('rollouts of weights that the service lacks are noticed before the first step', async () => {
  const { server, trainer } = await opened();
  const other = batch.map((item) => ({
    ...item,
    oldLogProbs: item.oldLogProbs.map((value) => value - 4),
  }));
  const step = trainer.step({ sequences: other, loss: policyLoss, lr: 0.1 });
  await expect(step).rejects.toMatchObject({ code: 'TRAINER_BASE' });
  expect(server.steps).toHaveLength(0);
});

test('a checkpoint of another kind of trainer is refused by name', async () => {
  const { trainer, folder } = await opened();
  const path = (version: number) => ({ version, uri: join(folder, 'x.safetensors'), digest: null });
  const others = [
    { weights: path(4), state: path(4) },
    { weights: path(4), state: null },
  ];
  for (const saved of others) {
    await expect(trainer.restore(saved, 'train')).rejects.toMatchObject({
      code: 'CHECKPOINT_KIND',
    });
  }
  await expect(
    trainer.restore(
      { weights: path(4), state: { version: 4, uri: 'tinker://gone/weights/x', digest: null } },
      'train',
    ),
  ).rejects.toMatchObject({
    code: 'CHECKPOINT',
    message: expect.stringContaining('policy version 4'),
  });
});

test('another base model, a wrong key and a service that is down are errors at the start', async () => {
  await expect(opened({}, { baseModels: ['Qwen/Qwen3-8B'] })).rejects.toMatchObject({
    code: 'TRAINER_BASE',
    message: expect.stringContaining("trains table, not 'Qwen/Qwen3-8B'"),
  });
  process.env.MILLRACE_TEST_TINKER_KEY = 'tml-very-secret';
  const wrong = opened({ key: 'tml-other' }, { keyEnv: 'MILLRACE_TEST_TINKER_KEY' });
  const error = await wrong.then(
    () => null,
    (cause: Error) => cause,
  );
  expect(error).toMatchObject({ code: 'TRAINER_ACCESS' });
  expect(JSON.stringify([error?.message, error])).not.toContain('very-secret');
  expect(error?.message).toContain("invalid key '[secret]'");
  // so long that what the service says of it is cut within it
  process.env.MILLRACE_TEST_TINKER_KEY = `tml-v${'x'.repeat(400)}`;
  const long = opened({ key: 'tml-other' }, { keyEnv: 'MILLRACE_TEST_TINKER_KEY' });
  await expect(long).rejects.not.toThrow(/tml-v/);
  process.env.MILLRACE_TEST_TINKER_KEY = 'tml-very-secret';
  await opened({ key: 'tml-very-secret' }, { keyEnv: 'MILLRACE_TEST_TINKER_KEY' });
  await expect(opened({}, { keyEnv: 'MILLRACE_TEST_NO_KEY' })).rejects.toMatchObject({
    code: 'USAGE',
  });
  await expect(opened({}, { url: 'http://127.0.0.1:9', awayMs: 300 })).rejects.toMatchObject({
    code: 'TRAINER_DOWN',
  });
  await expect(opened({}, { url: 'localhost:8000' })).rejects.toMatchObject({ code: 'USAGE' });
});

test('a service that starts late is waited for', async () => {
  const server = await serving();
  server.down(true);
  const said: string[] = [];
  void until(() => said.length > 0).then(() => server.down(false));
  await trainerOn(server, { print: (line) => said.push(line) });
  expect(said.join()).toMatch(/has not answered get_server_capabilities for 0 s.*answers again/);
});

test('a model waits for room, which a killed run frees late', async () => {
  const server = await serving({ modelsMax: 1 });
  const { trainer } = await trainerOn(server);
  await trainer.restore(
    { weights: { version: 0, uri: 'table', digest: null }, state: null },
    'train',
  );
  await expect(trainerOn(server, { awayMs: 0 })).rejects.toMatchObject({
    code: 'TRAINER_REFUSED',
    message: expect.stringContaining('Maximum number of LoRA adapters'),
  });
});

test.each([
  ['no outputs', () => ({ loss_fn_outputs: [] })],
  ['too few log-probs', () => ({ loss_fn_outputs: [{ logprobs: { data: [-1] } }] })],
  [
    'a positive log-prob',
    () => ({ loss_fn_outputs: [{ logprobs: { data: [-1, 3, -1, -1, -1] } }] }),
  ],
  [
    'a log-prob that is no number',
    () => ({ loss_fn_outputs: [{ logprobs: { data: [-1, null, -1, -1, -1] } }] }),
  ],
  [
    'a log-prob of minus infinity, as Python writes it',
    () => '{"loss_fn_outputs": [{"logprobs": {"data": [-1, -Infinity, -1, -1, -1]}}]}',
  ],
  [
    'a log-prob of minus infinity, as JSON can say it',
    () => '{"loss_fn_outputs": [{"logprobs": {"data": [-1, -1e999, -1, -1, -1]}}]}',
  ],
])('a reply that nothing can be learnt from is refused: %s', async (_, body) => {
  const { server, trainer } = await opened();
  const item = sequence(4, 6, 3);
  await trainer.step({ sequences: [item], loss: policyLoss, lr: 0.1 });
  const futures = server.seen.filter(({ route }) => route === 'retrieve_future');
  const last = Math.max(...futures.map(({ body: { request_id: id } }) => Number(id)));
  // the next one is the probe's, and then comes the batch's
  server.fate = ({ route, body: { request_id: id } }) =>
    route === 'retrieve_future' && Number(id) === last + 2
      ? { status: 200, body: body() }
      : undefined;
  await expect(
    trainer.step({ sequences: [item], loss: policyLoss, lr: 0.1 }),
  ).rejects.toMatchObject({ code: 'TRAINER_REPLY' });
  expect(server.steps).toHaveLength(1);
});
