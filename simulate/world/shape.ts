/**
 * A simulated run's shape, drawn by its seed: which method, how large, how far rollouts may lag, over how
 * many processes it is spread, and how long everything takes.
 */
import { draws } from '../../base/index.ts';
import {
  type CalibrateSettings,
  calibrate,
  calibrateSettings,
  everyQuestion,
  everyQuestionSettings,
  finetune,
  finetuneSettings,
  flywheel,
  flywheelSettings,
  type Method,
  policyRole,
} from '../../jobs/index.ts';
import type { Complete } from '../../operators/evolve/index.ts';
import type { PartNames } from '../../streams/index.ts';

/** A process of a run, and the part of the flow that it runs. */
export interface ProcessShape extends PartNames {
  readonly name: string;
}

export interface Shape {
  readonly seed: number;
  readonly method: 'calibrate' | 'everyQuestion' | 'etAgent';
  readonly settings: CalibrateSettings;
  /** The first one leads: it has all sources. One alone has the log for itself, as in a folder. */
  readonly processes: readonly ProcessShape[];
  readonly questions: number;
  /** Median time between endless questions that arrive one by one; null = all are there. */
  readonly arrivalMs: number | null;
  /** An endless run is stopped after this; null = it has an end. */
  readonly stopMs: number | null;
  /** Large topics keep so many bytes, the rest is archived by so many records; null = all stays. */
  readonly retention: { readonly bytesMax: number; readonly segmentRecords: number } | null;
  readonly tokenMs: number;
  readonly toolMs: number;
  readonly stepMs: number;
  /** Inference servers of each process that asks the policy. */
  readonly servers: number;
  readonly swap: 'live' | 'drain';
}

/** Stages that run elsewhere, if a run is spread over processes. */
const SPREADS: readonly (readonly string[])[][] = [
  [['score']],
  [['rollout']],
  [['measure', 'files', 'progress']],
  [['practice']],
  [['rollout'], ['score']],
  [['pareto'], ['batch']],
  [['trainer']],
];

export function shapeOf(seed: number): Shape {
  const draw = draws('shape', seed);
  let drawn = 0;
  const whole = (from: number, to: number): number => from + draw.integer(drawn++, to - from + 1);
  const oneOf = <T>(all: readonly T[]): T => all[draw.integer(drawn++, all.length)]!;
  const method = oneOf(['calibrate', 'calibrate', 'everyQuestion', 'etAgent'] as const);
  const lagMax = oneOf([0, 0, 0, 1, 1, 2]);
  const rollouts = whole(2, 3);
  const explore = whole(3, 7);
  const toolCalls = oneOf(['direct', 'direct', 'topics'] as const);
  const apart = draw.under('arriving');
  const arriving = apart.integer(0, 4) === 0;
  const window = arriving ? ['count', '1s', '4s'][apart.integer(1, 3)]! : 'count';
  const life = draw.under('life');
  const stopMs = life.integer(0, 6) === 0 ? 5_000 + life.integer(1, 9_000) : null;
  const kept = draw.under('kept');
  const settings = calibrateSettings.parse({
    ...{ lagMax, rollouts, explore, toolCalls },
    select: method === 'everyQuestion' ? 'groups' : oneOf(['questions', 'groups'] as const),
    keep: whole(2, explore),
    mixedOnly: false,
    rounds: stopMs === null ? whole(1, 2) : 'forever',
    heldOut: whole(1, 4),
    evaluationRollouts: whole(1, 2),
    initialRollouts: whole(1, rollouts),
    batchGroups: whole(1, 3),
    concurrency: whole(1, 4),
    branching: oneOf(['none', 'arpo'] as const),
    responseMax: 80,
    callLimit: 2,
    miniBatches: whole(1, 2),
    saveEvery: oneOf([1, 1, 2, 3]),
    keepVersions: oneOf([2, 4, 0]),
    keepRounds: [0, 0, 1, 2][kept.integer(0, 4)]!,
    keepEvery: [0, 0, 3][kept.integer(1, 3)]!,
    keepBest: [0, 0, 1][kept.integer(2, 3)]!,
    reward: 'accuracy',
    window,
  });
  // Only what is selected and rolled out again has a stage for that.
  const possible = SPREADS.filter((spread) =>
    settings.select === 'questions' ? true : !spread.flat().includes('practice'),
  );
  const spread = oneOf([...possible.map(() => []), ...possible]);
  const elsewhere = [
    ...spread,
    ...(toolCalls === 'topics' && whole(0, 1) === 1 ? [['tools']] : []),
  ];
  return {
    ...{ seed, method, settings },
    processes: [
      { name: 'lead', except: elsewhere.flat() },
      ...elsewhere.map((only) => ({ name: only[0]!, only })),
    ],
    questions: 16,
    arrivalMs: arriving ? 50 + apart.integer(2, 1_450) : null,
    stopMs,
    retention:
      life.integer(2, 4) === 0
        ? { bytesMax: life.integer(3, 6_000), segmentRecords: 1 + life.integer(4, 3) }
        : null,
    tokenMs: whole(1, 6),
    toolMs: whole(20, 400),
    stepMs: whole(100, 1500),
    servers: draw.under('servers').integer(0, 3) === 0 ? 2 : 1,
    swap: lagMax === 0 ? 'drain' : oneOf(['live', 'drain'] as const),
  };
}

/** Rounds of training, each of which ends with an evaluation. */
export function roundsOf({ method, settings }: Shape): number {
  return Number(settings.rounds) + (method === 'etAgent' ? 1 : 0);
}

/** `critic` = the model that analyses and judges, if a method has one. */
export function methodsOf({ method, settings }: Shape, critic: Complete): readonly Method[] {
  if (method === 'calibrate') return [calibrate(settings)];
  if (method === 'everyQuestion') {
    return [everyQuestion(everyQuestionSettings.parse(settings))];
  }
  const { concurrency, explore } = settings;
  const evolving = flywheelSettings.parse({ questions: explore, rounds: 1, concurrency });
  return [
    flywheel(evolving, {
      models: (live) => ({ policy: policyRole(settings)(live), analyst: critic, critic }),
      hints: { math: ['I look it up.'], qa: ['I look it up.'] },
    }),
    finetune(finetuneSettings.parse({ size: 2, demonstrationsMin: 0 })),
    calibrate(settings),
  ];
}
