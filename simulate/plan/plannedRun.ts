/**
 * A job on a planned cluster: the real flow (gate, schedule, stages, settlement, trainer sink, log) in
 * virtual time, until enough steps are measured.
 *
 * Only a part of a large cluster is simulated: for 8,192 rollouts per step, for example, an eighth, on an
 * eighth of the servers and of the trainer. Totals (bytes, records, processor time) are multiplied again;
 * times stay as they are. The slowest of a thousand rollouts is a little faster than the slowest of eight
 * thousand.
 */
import { join } from 'node:path';
import type { SleepClock } from '../../base/index.ts';
import {
  type CalibrateSettings,
  calibrate,
  calibrateSettings,
  everyQuestion,
  everyQuestionSettings,
  trainPolicy,
} from '../../jobs/index.ts';
import { type Log, recordsOf } from '../../streams/index.ts';
import { MemoryStore, openMemoryLog } from '../../streams/memory/index.ts';
import { runFlow } from '../../streams/run/index.ts';
import { topics } from '../../topics/index.ts';
import { Disk } from '../world/disk.ts';
import { placeOn } from '../world/job.ts';
import { VirtualClock } from '../world/virtualClock.ts';
import { dialect } from '../world/words.ts';
import { type Cluster, fullSpeed, loadSeconds, serversOf } from './cluster.ts';
import { type Activity, Meter } from './meter.ts';
import { answer, plannedEngine, plannedTools, plannedTrainer, question } from './parts.ts';
import type { Samples } from './samples.ts';
import { Servers } from './servers.ts';

/** A cluster, its rollouts, and how many steps to measure. */
export interface PlanOptions {
  readonly cluster: Cluster;
  readonly samples: Samples;
  readonly seed: number;
  /** `enough` unless given. */
  readonly steps?: number;
  /** How the run that it was learned from is divided into rounds; left out = one endless round. */
  readonly rounds?: Partial<CalibrateSettings> & { readonly selects: boolean };
}

/** The prediction. Times are in seconds. */
export interface Planned {
  /** From one version to the next. */
  readonly stepSeconds: number;
  readonly stepsADay: number;
  /** Tokens a second. */
  readonly generated: number;
  readonly trained: number;
  /** Unused shares of what servers and trainer could do. */
  readonly idle: { readonly servers: number; readonly trainer: number };
  /** Shares of the time. */
  readonly time: Readonly<Record<Activity, number>>;
  readonly bottleneck: string;
  /** How many versions rollouts lagged when they were trained on: share by lag, from 0 on. */
  readonly lag: readonly number[];
  readonly rolloutsInFlight: number;
  readonly rolloutsASecond: number;
  readonly log: {
    readonly bytesASecond: number;
    readonly recordsASecond: number;
    readonly commitsASecond: number;
    /** With all copies. */
    readonly brokerBytesASecond: number;
    readonly bytesADay: number;
  };
  readonly weightsSeconds: number;
  /** Processor cores in use: the leader's for what it sends, and the workers' for tools. */
  readonly cores: { readonly leader: number; readonly tools: number };
  /** One in this many servers and rollouts was simulated. */
  readonly oneIn: number;
}

/** About how many rollouts of a step to simulate. */
const ROLLOUTS_SIMULATED = 512;
/** Until the number in flight is steady. */
const warmUp = ({ job }: Cluster): number => 3 + job.lagMax;
/** Words of a segment. */
const WORDS = 16;
const GRACE_MS = 1_000;
/** Few steps, or steps of few rollouts, say little: slow rollouts make one step long and the next short. */
const [STEPS_MIN, ROLLOUTS_MIN] = [8, 1024];
const enough = ({ job }: Cluster): number =>
  Math.max(STEPS_MIN, Math.ceil(ROLLOUTS_MIN / (job.batchGroups * job.rollouts)));
/** A longer step counts as stuck. */
const STEP_MAX_MS = 30 * 86_400_000;

export async function plannedRun(options: PlanOptions): Promise<Planned> {
  const { cluster, samples, seed } = options;
  const { steps = enough(cluster) } = options;
  const { job, servers } = cluster;
  const small = reduced(cluster);
  const clock = new VirtualClock(seed);
  const time: SleepClock = {
    now: () => Math.floor(clock.now()),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  const places = small.concurrency * job.rollouts;
  const meter = new Meter({ clock, fullSpeed: small.fullSpeed, inFlightMax: places });
  const disk = new Disk();
  let [commits, tokens] = [0, 0];
  const store = new MemoryStore(async (apply) => {
    await clock.sleep(1000 * cluster.log.commitSeconds);
    commits += 1;
    apply();
  });
  const log = openMemoryLog({ store, clock: time });
  const scale = scaleOf(samples);
  const common = { clock: time, samples, meter, ...scale };
  const heads = (): Heads => new Map(store.heads());
  const versions: number[] = [];
  let before: Heads = new Map();
  let failed: unknown = null;
  const begin = warmUp(cluster);
  const last = begin + steps;
  const parts = {
    base: 'base weights',
    dialect,
    engine: plannedEngine({
      ...common,
      loadSeconds: loadSeconds(cluster),
      servers: new Servers({
        ...{ timer: clock, servers, count: small.servers, faster: small.faster },
        changed: (speed, requests) => meter.set({ speed, requests }),
      }),
    }),
    tools: plannedTools(common),
    trainer: plannedTrainer({
      ...common,
      disk,
      promptTokens: cluster.rollout.promptTokens,
      stepSeconds: (tokens) => stepSeconds(cluster, tokens * small.oneIn),
      publishSeconds: cluster.trainer.publishSeconds,
      trained(count) {
        tokens += count;
      },
      published(version) {
        if (version === begin) {
          meter.begin();
          before = heads();
          [commits, tokens] = [0, 0];
        }
        versions.push(clock.now());
      },
    }),
  };
  void run(parts, { ...options, small, log, time, disk, last }).catch((error: unknown) => {
    failed = error;
  });
  const startMs = clock.now();
  const end = await clock.run(
    () =>
      failed !== null ||
      versions.length >= last ||
      clock.now() - startMs > STEP_MAX_MS * (versions.length + 1),
  );
  if (failed !== null) throw failed;
  if (versions.length < last) {
    throw new Error(`the planned run ends after ${versions.length} versions (${end})`);
  }
  const times = meter.read();
  const after = heads();
  const perStep = times.seconds / steps;
  const rolled = of(after, 'rollouts').end - of(before, 'rollouts').end;
  const bytes = bytesOf(options, { before, after, scale });
  const perSecond = (amount: number): number => (amount * small.oneIn) / times.seconds;
  const perStepTokens = (tokens * small.oneIn) / steps;
  return {
    stepSeconds: perStep,
    stepsADay: 86_400 / perStep,
    generated: times.generated * small.oneIn,
    trained: perStepTokens / perStep,
    idle: { servers: 1 - times.generated / small.fullSpeed, trainer: 1 - times.training },
    time: times.shares,
    bottleneck: bottleneck(times.shares, cluster, perStepTokens),
    lag: await lagsIn(log, begin),
    rolloutsInFlight: times.inFlight * small.oneIn,
    rolloutsASecond: perSecond(rolled),
    log: {
      bytesASecond: perSecond(bytes),
      recordsASecond: perSecond(recordsBetween(before, after)),
      commitsASecond: commits / times.seconds,
      brokerBytesASecond: perSecond(bytes) * cluster.log.replication,
      bytesADay: 86_400 * perSecond(bytes) * cluster.log.replication,
    },
    weightsSeconds: loadSeconds(cluster),
    cores: {
      leader: (cluster.leader.coreSeconds * perStepTokens) / 1e6 / perStep,
      tools: perSecond(rolled) * cluster.rollout.calls * cluster.tools.coreSeconds,
    },
    oneIn: small.oneIn,
  };
}

/** What is computed and what is sent overlap. */
function stepSeconds({ trainer, leader }: Cluster, tokens: number): number {
  const computed = trainer.stepSeconds + tokens / (trainer.gpus * trainer.tokensPerSecond);
  return Math.max(computed, tokens / leader.tokensPerSecond);
}

/** The part of a cluster that is simulated. */
interface Small {
  readonly oneIn: number;
  readonly servers: number;
  readonly faster: number;
  readonly batchGroups: number;
  readonly concurrency: number;
  readonly fullSpeed: number;
}

function reduced({ job, servers }: Cluster): Small {
  const { batchGroups, rollouts, workers, concurrency } = job;
  const all = serversOf(servers);
  const wanted = Math.floor((batchGroups * rollouts) / ROLLOUTS_SIMULATED);
  const oneIn = Math.max(1, Math.min(wanted, batchGroups, all));
  const count = Math.max(1, Math.round(all / oneIn));
  const faster = all / oneIn / count;
  return {
    ...{ oneIn, servers: count, faster },
    batchGroups: Math.round(batchGroups / oneIn),
    concurrency: Math.max(1, Math.round((workers * concurrency) / oneIn)),
    fullSpeed: faster * count * fullSpeed(servers),
  };
}

interface RunOptions extends PlanOptions {
  readonly small: Small;
  readonly log: Log;
  readonly time: SleepClock;
  readonly disk: Disk;
  readonly last: number;
}

async function run(
  parts: Parameters<typeof trainPolicy>[1],
  { cluster, small, log, time, disk, seed, last, rounds }: RunOptions,
): Promise<void> {
  const { rollouts, lagMax } = cluster.job;
  const { batchGroups, concurrency } = small;
  const explore = rounds?.explore ?? batchGroups * (last + 2 * lagMax + 2);
  const settings = calibrateSettings.parse({
    ...{ explore, rounds: 1, heldOut: 1, evaluationRollouts: 1, select: 'groups', keep: explore },
    ...rounds,
    ...{ lagMax, rollouts, batchGroups, concurrency, initialRollouts: rollouts },
    ...{ branching: 'none', mixedOnly: false, reward: 'accuracy', sampler: 'random' },
    ...{ responseMax: 1 << 22, callLimit: 1 << 16, keepVersions: 2, miniBatches: 1 },
    ...{ lagCorrection: 'none' },
  });
  const rows =
    settings.heldOut + explore * Number(settings.rounds === 'forever' ? 64 : settings.rounds);
  const method =
    rounds?.selects === true
      ? calibrate(settings)
      : everyQuestion(everyQuestionSettings.parse(settings));
  const nothing = (): void => undefined;
  const folder = join('/', 'planned');
  const context = {
    ...{ run: 'planned', folder, seed, settings, log, clock: time, print: nothing },
    own: <T>(resource: T): T => resource,
    screen: { event: nothing, status: nothing, warning: nothing, close: nothing },
    place: placeOn(disk),
  };
  const flow = await trainPolicy(context, parts, { train: asked(rows) }, [method]);
  await runFlow(flow, { log, clock: time, graceMs: GRACE_MS });
}

async function* asked(count: number) {
  for (let i = 0; i < count; i++) {
    const value = { id: `q${i}`, question, answers: [answer], source: 'plan', ability: 'math' };
    yield { value: value as typeof value & { readonly ability: 'math' } };
  }
}

// Measurements.

type Heads = ReadonlyMap<string, { readonly end: number; readonly bytes: number }>;

function of(heads: Heads, topic: string) {
  return heads.get(topic) ?? { end: 0, bytes: 0 };
}

function recordsBetween(before: Heads, after: Heads): number {
  return [...after].reduce((sum, [topic, { end }]) => sum + end - of(before, topic).end, 0);
}

const SAMPLED = 256;

/** Means over some rollouts. */
function meanOf(samples: Samples, value: (sample: ReturnType<Samples>) => number): number {
  let sum = 0;
  for (let i = 0; i < SAMPLED; i++) sum += value(samples(`mean-${i >> 3}/explore-1/${i & 7}`));
  return sum / SAMPLED;
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

/** Tokens of the policy and of tools. */
function written({ turns }: ReturnType<Samples>): number {
  return sum(turns.map(({ tokens, call }) => tokens + (call?.tokens ?? 0)));
}

type Scale = { readonly tokensPerWord: number };

function scaleOf(samples: Samples): Scale {
  const segment = meanOf(
    samples,
    ({ turns }) => sum(turns.map(({ tokens }) => tokens)) / turns.length,
  );
  return { tokensPerWord: Math.max(1, segment / WORDS) };
}

/** The records as they are, and the bytes of the tokens that words stand for. */
function bytesOf(
  { cluster, samples }: PlanOptions,
  {
    before,
    after,
    scale,
  }: { readonly before: Heads; readonly after: Heads; readonly scale: Scale },
): number {
  const small = sum([...after].map(([topic, { bytes }]) => bytes - of(before, topic).bytes));
  const rolled = of(after, 'rollouts').end - of(before, 'rollouts').end;
  const tokens = meanOf(samples, (sample) => written(sample) + sample.promptTokens);
  const results = meanOf(samples, ({ turns }) => sum(turns.map(({ call }) => call?.tokens ?? 0)));
  const words = tokens / scale.tokensPerWord;
  const { bytesPerToken } = cluster.log;
  return small + rolled * ((tokens - words) * bytesPerToken + results * TEXT_BYTES);
}

/** Bytes of a token as text in a tool call's record. */
const TEXT_BYTES = 4;

const EARLIEST = { from: { kind: 'earliest' } } as const;

/** Shares of rollouts by lag, over the measured steps. */
async function lagsIn(log: Log, begin: number): Promise<readonly number[]> {
  const counts: number[] = [];
  for await (const { value: batch } of recordsOf(log, topics.batches, EARLIEST)) {
    if (batch.step <= begin) continue;
    const scored = await log.fetch(
      topics.scored,
      batch.groups.map((group) => group.scored),
    );
    for (const { value } of scored) {
      for (const { value: rollout } of await log.fetch(topics.rollouts, value.rollouts)) {
        const lag = Math.max(0, batch.version - rollout.version);
        counts[lag] = (counts[lag] ?? 0) + 1;
      }
    }
  }
  const all = sum(Array.from(counts, (count) => count ?? 0));
  return Array.from(counts, (count) => (count ?? 0) / Math.max(1, all));
}

const MOSTLY = 0.85;
const HALF = 0.5;

/** The resource that would make steps shorter. */
function bottleneck(
  shares: Readonly<Record<Activity, number>>,
  cluster: Cluster,
  tokens: number,
): string {
  const both = shares['training and generating'];
  const training = both + shares.training;
  const generating = both + shares.generating;
  const { trainer, leader } = cluster;
  const computed = trainer.stepSeconds + tokens / (trainer.gpus * trainer.tokensPerSecond);
  const trains = tokens / leader.tokensPerSecond > computed ? 'the leader' : 'training';
  if (training >= MOSTLY) return trains;
  if (generating >= MOSTLY) return 'generation';
  const others = Object.entries(shares).filter(([name]) => !/^training|^generating/.test(name));
  const [name, most] = others.toSorted(([, a], [, b]) => b - a)[0]!;
  if (most > Math.max(training, generating)) return name;
  if (cluster.job.lagMax === 0) return `${trains} and generation take turns`;
  if (Math.min(training, generating) > HALF) return `${trains} and generation wait for each other`;
  return training > generating ? trains : 'generation';
}
