/**
 * The decoder: logits of given tokens, and weights after training steps. Asynchronous.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type DecoderConfig,
  parameterShapes,
  type Tensor,
  type Tensors,
} from '../../../model/config.ts';
import type { TrainSequence } from '../../../model/engine.ts';
import { Graph } from '../../../model/graph/graph.ts';
import { loadPolicy } from '../../../model/hf/loadPolicy.ts';
import type { NamedLoss } from '../../../model/losses/losses.ts';
import type { Aggregation } from '../../../model/losses/parts/tokenWeights.ts';
import type { Policy } from '../../../model/policyFile.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { type GraphRunner, graphRunner } from '../../model/runtime/graphRunner.ts';
import { decoderLogits } from '../../support/decoderLogits.ts';
import { type Subjects, subject, subjectWith } from '../subject.ts';
import type { VectorFile } from '../vectors.ts';

interface ForwardArgs {
  readonly model: string;
  readonly inputIds: readonly number[];
}
interface TrainArgs {
  readonly model: string;
  readonly kind: 'sft' | 'policy';
  readonly inputIds: readonly (readonly number[])[];
  readonly lossMask: readonly (readonly number[])[];
  readonly advantages?: readonly (readonly number[])[];
  readonly oldLogProbs?: readonly (readonly number[])[];
  readonly lr: number;
  readonly betas: readonly [number, number];
  readonly eps: number;
  readonly weightDecay: number;
  readonly maxGradNorm: number;
  readonly steps: number;
  readonly variant?: string;
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly clipC: number;
  readonly aggregation: Aggregation;
}
interface CodedModel {
  readonly config: DecoderConfig;
  readonly tensors: Readonly<
    Record<string, { readonly shape: readonly number[]; readonly data: string }>
  >;
}
/** The expected value names the places of a tensor that are compared. */
interface Sampled {
  readonly tensors: Readonly<
    Record<string, { readonly samples: readonly (readonly [number, number])[] }>
  >;
}

export const modelSubjects: Subjects = {
  'model-forward': subjectWith<ForwardArgs, GraphRunner>(graphRunner, (args, runner, { file }) =>
    forward(runner, policyOf(file, args.model), args.inputIds),
  ),
  'model-train': subject<TrainArgs>((args, { file, expect }) =>
    train(args, policyOf(file, args.model), expect as Sampled),
  ),
};

function policyOf({ models }: VectorFile, name: string): Policy {
  const model = (models as Readonly<Record<string, CodedModel>>)[name]!;
  const tensors = Object.entries(model.tensors).map(
    ([tensor, { shape, data }]): [string, Tensor] => {
      const bytes = new Uint8Array(Buffer.from(data, 'base64'));
      return [tensor, { shape, data: new Float32Array(bytes.buffer) }];
    },
  );
  return { config: model.config, tensors: new Map(tensors) };
}

async function forward(
  runner: GraphRunner,
  { config, tensors }: Policy,
  inputIds: readonly number[],
): Promise<unknown> {
  const graph = new Graph();
  const shapes = [...parameterShapes(config)];
  const parameters = new Map(
    shapes.map(([name, shape]) => [name, graph.input(name, 'float32', shape)]),
  );
  graph.output('logits', decoderLogits(graph, config, parameters));
  const session = await runner.open(graph.model(), { threads: 1 });
  const length = inputIds.length;
  const { logits } = await session.run({
    ...Object.fromEntries(tensors),
    tokens: { shape: [1, length], data: Int32Array.from(inputIds) },
    rows: { shape: [length], data: Int32Array.from(inputIds.keys()) },
  });
  await session.release();
  const values = Array.from(logits!.data as Float32Array);
  const width = values.length / length;
  return { logits: inputIds.map((_, t) => values.slice(t * width, (t + 1) * width)) };
}

async function train(args: TrainArgs, policy: Policy, asked: Sampled): Promise<unknown> {
  const [beta1, beta2] = args.betas;
  const { eps, weightDecay, maxGradNorm: gradNormMax } = args;
  const settings = { beta1, beta2, eps, weightDecay, gradNormMax };
  const trainer = await EmbeddedTrainer.create({ policy, settings });
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const losses: number[] = [];
    const gradNorms: number[] = [];
    for (let step = 0; step < args.steps; step++) {
      const batch = { sequences: sequencesOf(args), loss: lossOf(args), lr: args.lr };
      const report = await trainer.step(batch);
      losses.push(report.loss);
      gradNorms.push(report.gradNorm);
    }
    const weights = join(folder, 'weights.safetensors');
    await trainer.write(weights);
    return { losses, gradNorms, tensors: summary((await loadPolicy(weights)).tensors, asked) };
  } finally {
    await trainer.close();
    await rm(folder, { recursive: true });
  }
}

function lossOf(args: TrainArgs): NamedLoss {
  if (args.kind === 'sft') return { name: 'sft' };
  const balanced = args.variant === 'entropy-balanced';
  const { clipLow, clipHigh, clipC, aggregation } = args;
  const settings = { clipLow, clipHigh, clipC, aggregation };
  const aepo = { clipping: true, advantageWeight: 0.2 };
  return { name: 'clipped', settings: balanced ? { ...settings, aepo } : settings };
}

/** Masks and per-token numbers cover the last tokens of a sequence. */
function sequencesOf({ inputIds, lossMask, advantages, oldLogProbs }: TrainArgs): TrainSequence[] {
  return inputIds.map((ids, i) => {
    const tail = (values: readonly number[] = []) => [
      ...new Array<number>(ids.length - values.length).fill(0),
      ...values,
    ];
    return {
      tokens: Int32Array.from(ids),
      mask: Uint8Array.from(tail(lossMask[i])),
      advantages: Float32Array.from(tail(advantages?.[i])),
      oldLogProbs: Float32Array.from(tail(oldLogProbs?.[i])),
    };
  });
}

function summary(tensors: Tensors, asked: Sampled): unknown {
  const rows = Object.entries(asked.tensors).map(([name, { samples }]) => {
    const data = Array.from(tensors.get(name)!.data);
    return [
      name,
      {
        sum: data.reduce((total, value) => total + value, 0),
        sumSquares: data.reduce((total, value) => total + value * value, 0),
        samples: samples.map(([place]) => [place, data[place]]),
      },
    ];
  });
  return Object.fromEntries(rows);
}
