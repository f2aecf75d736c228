/**
 * One execution provider, in a process of its own, since a driver that fails may take its process with it:
 * opening (with the self-test), generated and trained tokens a second. Prints one line of JSON; arguments: a
 * JSON object (`Work`).
 */
import { messageOf } from '../../base/errors.ts';
import { EmbeddedEngine } from '../../model/rollout/embeddedEngine.ts';
import type { Provider } from '../../model/runtime/provider.ts';
import { EmbeddedTrainer } from '../../model/train/trainer.ts';
import { clock } from '../model/bench.ts';
import { LOSSES, prompt, request, trainSequences } from '../model/sequences.ts';
import { SHAPES, type ShapeName } from '../model/shapes.ts';
import { adapterOf } from '../model/trainRows.ts';
import { median, timeMs } from '../table.ts';

/** What is measured. Tokens; `rows` responses at once. */
export interface Work {
  readonly provider: Provider;
  readonly shape: ShapeName;
  readonly path: string;
  readonly threads: number;
  readonly rows: number;
  readonly prompt: number;
  readonly tokens: number;
  readonly trainRows: number;
  /** Of the adapter that is trained besides all weights. */
  readonly loraRank: number;
  readonly length: number;
  readonly turns: number;
}

/** Tokens per second; of training with the loss of the first step, which both sides must agree on. */
export interface Speed {
  readonly speed: number;
  readonly loss?: number;
}

export type Part = Speed | { readonly reason: string };

/** Responses, steps of all weights, and of an adapter. */
export interface Measured {
  readonly generated: Part;
  readonly trained: Part;
  readonly adapted: Part;
}

const work: Work = JSON.parse(process.argv[2] ?? '');
const config = SHAPES[work.shape];

async function generate(): Promise<Speed> {
  const { path, provider, threads, rows, tokens, turns } = work;
  const engine = await EmbeddedEngine.create({
    ...{ weights: path, provider, threads, rowsMax: rows, clock },
    contextMax: work.prompt + tokens,
    prefixSlots: 0,
  });
  let id = 0;
  const turn = async (): Promise<number> => {
    const requests = Array.from({ length: rows }, () =>
      request(prompt(config, `gpu ${id}`, work.prompt), tokens, id++),
    );
    return timeMs(() => Promise.all(requests.map((one) => engine.generate(one))));
  };
  await turn();
  const times: number[] = [];
  for (let i = 0; i < turns; i++) times.push(await turn());
  await engine.close();
  return { speed: (1000 * rows * tokens) / median(times) };
}

/** All weights, or an adapter. */
async function train(rank: number): Promise<Speed> {
  const { path, provider, threads, trainRows, length, turns } = work;
  const trainer = await EmbeddedTrainer.create({
    ...{ policy: path, provider, threads },
    ...(rank === 0 ? {} : { adapter: { adapter: adapterOf(rank)!, publish: 'merged' } as const }),
  });
  const sequences = trainSequences(config, trainRows, length);
  const step = () => trainer.step({ sequences, loss: LOSSES.SFT, lr: 1e-6 });
  const { loss } = await step();
  const times: number[] = [];
  for (let i = 0; i < turns; i++) times.push(await timeMs(step));
  await trainer.close();
  return { speed: (1000 * trainRows * length) / median(times), loss };
}

/** What one part measures; a part that fails does not take the others with it. */
async function tried<T>(part: () => Promise<T>): Promise<T | { readonly reason: string }> {
  try {
    return await part();
  } catch (error) {
    return { reason: messageOf(error) };
  }
}

const [generated, trained, adapted] = [
  await tried(generate),
  await tried(() => train(0)),
  await tried(() => train(work.loraRank)),
];
console.log(JSON.stringify({ generated, trained, adapted } satisfies Measured));
