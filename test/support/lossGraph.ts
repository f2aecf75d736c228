/**
 * A loss of the product over given log-probs: its own graph and its own feeds, in float64. Rows are
 * responses; a mask says which of their tokens are targets.
 */

import type { Matrix } from '../../model/credit/matrix.ts';
import type { Loss } from '../../model/engine.ts';
import { pullBack } from '../../model/graph/gradients.ts';
import { Graph } from '../../model/graph/graph.ts';
import type { TargetSequence } from '../../model/losses/loss.ts';
import { prepareLoss } from '../../model/losses/losses.ts';
import type { Session } from '../../model/runtime/session.ts';
import { type GraphRunner, graphRunner } from '../model/runtime/graphRunner.ts';

export interface LossInput {
  readonly logProbs: Matrix;
  readonly mask: Matrix;
  readonly oldLogProbs?: Matrix;
  readonly advantages?: Matrix;
  readonly refLogProbs?: Matrix;
  readonly importance?: Matrix;
  readonly entropies?: Matrix;
  /** Rows with the same number are parts of one rollout; null = a rollout by itself. */
  readonly rollouts?: readonly (number | null)[];
}

/**
 * What the references' losses are multiplied with to give ours: 1, but for `seq-mean-token-sum-norm`, which
 * divides by the longest response. Theirs is as wide as the matrix, ours begins with the first target, as
 * rollouts do.
 */
export function widthFactor(mask: Matrix, aggregation: string): number {
  if (aggregation !== 'seq-mean-token-sum-norm') return 1;
  const widths = mask.map((row) => (row.includes(1) ? row.length - row.indexOf(1) : 0));
  return mask[0]!.length / Math.max(1, ...widths);
}

export interface LossResult {
  readonly loss: number;
  /** d loss / d logProbs and d entropies; 0 where the mask is. */
  readonly gradient: number[][];
  readonly entropyGradient: number[][];
  /** What the loss reports. */
  readonly numbers: Readonly<Record<string, number>>;
}

export interface LossGraphs {
  /** `parts`: rows that are computed together, all at once unless given; the results are added up. */
  run(loss: Loss, input: LossInput, parts?: readonly (readonly number[])[]): Promise<LossResult>;
  close(): Promise<void>;
}

export function lossGraphs(): LossGraphs {
  const sessions = new Map<string, Promise<Session>>();
  let runner: GraphRunner | null = null;
  return {
    async run(loss, input, parts = [[...input.mask.keys()]]) {
      const prepared = await prepareLoss(loss);
      const key = JSON.stringify([loss.name, prepared.variant]);
      runner ??= graphRunner();
      const opened = sessions.get(key) ?? open(runner, prepared.graph);
      sessions.set(key, opened);
      const session = await opened;
      const sequences = input.mask.map((_, row) => sequenceOf(input, row));
      const feedsOf = prepared.feeds(sequences);
      const tally = prepared.tally();
      const zeros = () => input.mask.map((row) => row.map(() => 0));
      const [gradient, entropyGradient] = [zeros(), zeros()];
      let total = 0;
      for (const rows of parts) {
        const places = rows.flatMap((row) =>
          Array.from(sequences[row]!.places, (place) => [row, place - 1] as const),
        );
        const vector = (matrix?: Matrix) => ({
          shape: [places.length],
          data: Float64Array.from(places, ([row, place]) => matrix?.[row]?.[place] ?? 0),
        });
        const feeds = feedsOf(rows);
        const own = { logProbs: vector(input.logProbs), entropies: vector(input.entropies) };
        const results = await session.run({ ...feeds, ...own });
        total += results.loss!.data[0]!;
        for (const [index, [row, place]] of places.entries()) {
          gradient[row]![place] = results['gradient:logProbs']!.data[index]!;
          entropyGradient[row]![place] = results['gradient:entropies']!.data[index]!;
        }
        tally.add(feeds, own.logProbs.data);
      }
      const targets = sequences.reduce((sum, { places }) => sum + places.length, 0);
      const numbers = tally.numbers(Math.max(1, targets));
      return { loss: total, gradient, entropyGradient, numbers };
    },
    async close() {
      await runner?.close();
    },
  };
}

async function open(
  runner: GraphRunner,
  lossOf: Awaited<ReturnType<typeof prepareLoss>>['graph'],
): Promise<Session> {
  const graph = new Graph('float64');
  const given = {
    logProbs: graph.input('logProbs', 'float64', ['M']),
    entropies: graph.input('entropies', 'float64', ['M']),
  };
  const loss = lossOf(given);
  graph.output('loss', loss);
  const found = pullBack(graph.derivations, loss, graph.scalar(1), Object.values(given));
  for (const [index, name] of Object.keys(given).entries()) {
    const zero = graph.node('Sub', [given[name as 'logProbs'], given[name as 'logProbs']], ['M']);
    graph.output(`gradient:${name}`, found[index] ?? zero);
  }
  return runner.open(graph.model(), { threads: 1 });
}

/** Place 0 is no target, so token t of a row lies at place t + 1. */
function sequenceOf(input: LossInput, row: number): TargetSequence {
  const mask = [0, ...input.mask[row]!];
  const values = (matrix?: Matrix) => {
    const found = matrix?.[row];
    // in float64, so that the arithmetic is checked and not the rounding
    return found && (Float64Array.from([0, ...found]) as unknown as Float32Array);
  };
  const none = new Float32Array(mask.length);
  const [refLogProbs, importance] = [values(input.refLogProbs), values(input.importance)];
  return {
    tokens: new Int32Array(mask.length),
    mask: Uint8Array.from(mask),
    places: [...mask.keys()].filter((place) => mask[place] === 1),
    advantages: values(input.advantages) ?? none,
    oldLogProbs: values(input.oldLogProbs) ?? none,
    ...(refLogProbs && { refLogProbs }),
    ...(importance && { importance }),
    ...(typeof input.rollouts?.[row] === 'number' && { rollout: input.rollouts[row] }),
  };
}
