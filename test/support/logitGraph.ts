/**
 * A loss of the product over given logits: the layers of our training graph after the decoder, in float64.
 */
import type { Loss } from '../../model/engine.ts';
import { pullBack } from '../../model/graph/gradients.ts';
import { Graph } from '../../model/graph/graph.ts';
import { judgeTokens } from '../../model/graph/layers.ts';
import type { TargetSequence } from '../../model/losses/loss.ts';
import { prepareLoss } from '../../model/losses/losses.ts';
import type { Session } from '../../model/runtime/session.ts';
import { type GraphRunner, graphRunner } from '../model/runtime/graphRunner.ts';

export interface LogitResult {
  readonly loss: number;
  /** d loss / d logits, a row a target, in the order of sequences and places. */
  readonly gradient: number[][];
}

export interface LogitGraphs {
  /** `logits` has a row a target, in the order of sequences and places. */
  run(
    loss: Loss,
    sequences: readonly TargetSequence[],
    logits: readonly (readonly number[])[],
  ): Promise<LogitResult>;
  close(): Promise<void>;
}

export function logitGraphs(): LogitGraphs {
  const sessions = new Map<string, Promise<Session>>();
  let runner: GraphRunner | null = null;
  return {
    async run(loss, sequences, logits) {
      const prepared = await prepareLoss(loss);
      const width = logits[0]!.length;
      const key = JSON.stringify([loss.name, prepared.variant, width]);
      runner ??= graphRunner();
      const opened = sessions.get(key) ?? open(runner, prepared.graph, width);
      sessions.set(key, opened);
      const session = await opened;
      const targets = sequences.flatMap(({ tokens, places }) =>
        Array.from(places, (at) => tokens[at]!),
      );
      const results = await session.run({
        ...prepared.feeds(sequences)([...sequences.keys()]),
        logits: { shape: [targets.length, width], data: Float64Array.from(logits.flat()) },
        targets: { shape: [targets.length], data: Int32Array.from(targets) },
      });
      const flat = Array.from(results.gradient!.data as Float64Array);
      const gradient = targets.map((_, i) => flat.slice(i * width, (i + 1) * width));
      return { loss: results.loss!.data[0]!, gradient };
    },
    async close() {
      await runner?.close();
    },
  };
}

async function open(
  runner: GraphRunner,
  lossOf: Awaited<ReturnType<typeof prepareLoss>>['graph'],
  width: number,
): Promise<Session> {
  const graph = new Graph('float64');
  const logits = graph.input('logits', 'float64', ['M', width]);
  const targets = graph.input('targets', 'int32', ['M']);
  const loss = lossOf(judgeTokens(logits, targets));
  graph.output('loss', loss);
  const [found] = pullBack(graph.derivations, loss, graph.scalar(1), [logits]);
  graph.output('gradient', found!);
  return runner.open(graph.model(), { threads: 1 });
}
