/**
 * A loss and its gradient in the log-probs of the targets, by the loss's own graph.
 *
 * The graph of a training step goes from parameters to log-probs and from there to the loss. A service
 * computes the first part; this is the second one alone: log-probs go in, and their gradient comes out. A
 * service gives no entropies, so a loss that depends on them is refused before anything is trained.
 */
import { MillraceError } from '../../base/index.ts';
import { pullBack } from '../graph/gradients.ts';
import { Graph } from '../graph/graph.ts';
import type { PreparedLoss } from '../losses/loss.ts';
import { type Feeds, openSession, type Session } from '../runtime/session.ts';

export interface Slopes {
  readonly loss: number;
  /** d loss / d log-prob [M], in nats. */
  readonly slopes: Float32Array;
}

export interface LossGraph {
  /** The gradient does not depend on the log-probs, so it is known before they are. */
  readonly linear: boolean;
  /** Feeds of the loss, in float32, and log-probs of its targets. */
  run(feeds: Feeds, logProbs: Float32Array): Promise<Slopes>;
  /** Fails with code `LOSS_UNSUPPORTED` if the result depends on entropies. */
  checkEntropies(feeds: Feeds, logProbs: Float32Array): Promise<void>;
  release(): Promise<void>;
}

export async function lossGraph(name: string, prepared: PreparedLoss): Promise<LossGraph> {
  const graph = new Graph();
  const logProbs = graph.input('logProbs', 'float32', ['M']);
  const entropies = graph.input('entropies', 'float32', ['M']);
  const loss = prepared.graph({ logProbs, entropies });
  const [toLogProbs, toEntropies] = pullBack(graph.derivations, loss, graph.scalar(1), [
    logProbs,
    entropies,
  ]);
  if (toEntropies !== null && toEntropies !== undefined) throw needsEntropies(name);
  if (toLogProbs === null || toLogProbs === undefined) {
    throw new MillraceError('NO_LOSS', `the loss ${name} does not depend on the log-probs`);
  }
  const linear = !graph.reads(toLogProbs, logProbs);
  graph.output('loss', loss);
  graph.output('slopes', toLogProbs);
  const session = await openSession(graph.model(), { threads: 1 });
  return {
    linear,
    run: (feeds, given) => run(session, feeds, given, new Float32Array(given.length)),
    async checkEntropies(feeds, given) {
      const some = Float32Array.from(given, (_, index) => 1 + (index % 7) / 5);
      const without = await run(session, feeds, given, new Float32Array(given.length));
      const other = await run(session, feeds, given, some);
      const same = without.slopes.every((slope, index) => Object.is(slope, other.slopes[index]));
      if (!same || !Object.is(without.loss, other.loss)) throw needsEntropies(name);
    },
    release: () => session.release(),
  };
}

async function run(
  session: Session,
  feeds: Feeds,
  logProbs: Float32Array,
  entropies: Float32Array,
): Promise<Slopes> {
  const shape = [logProbs.length];
  const results = await session.run({
    ...feeds,
    logProbs: { shape, data: logProbs },
    entropies: { shape, data: entropies },
  });
  const { data } = results.slopes as { readonly data: Float32Array };
  // a gradient that is the same for all comes as one number
  const slopes =
    data.length === logProbs.length ? data : new Float32Array(logProbs.length).fill(data[0] ?? 0);
  return { loss: results.loss?.data[0] ?? Number.NaN, slopes };
}

function needsEntropies(name: string): MillraceError {
  return new MillraceError(
    'LOSS_UNSUPPORTED',
    `the loss ${name} with these settings depends on exact entropies, which a training service does not give: set entropyCoefficient and ` +
      'aepo.advantageWeight to 0, or train with trainer.kind=embedded',
  );
}
