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
  readonly length: number;
  readonly turns: number;
}

/** The result: milliseconds, and tokens per second. */
export interface Speed {
  readonly openMs: number;
  readonly decode: number;
  readonly train: number;
  /** Of the first step, before any update: both sides must compute the same. */
  readonly loss: number;
}

const work: Work = JSON.parse(process.argv[2] ?? '');
const config = SHAPES[work.shape];

async function generate(): Promise<Pick<Speed, 'openMs' | 'decode'>> {
  const { path, provider, threads, rows, tokens, turns } = work;
  const opened = performance.now();
  const engine = await EmbeddedEngine.create({
    ...{ weights: path, provider, threads, rowsMax: rows, clock },
    contextMax: work.prompt + tokens,
    prefixSlots: 0,
  });
  const openMs = performance.now() - opened;
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
  return { openMs, decode: (1000 * rows * tokens) / median(times) };
}

async function train(): Promise<Pick<Speed, 'train' | 'loss'>> {
  const { path, provider, threads, trainRows, length, turns } = work;
  const trainer = await EmbeddedTrainer.create({ policy: path, provider, threads });
  const sequences = trainSequences(config, trainRows, length);
  const step = () => trainer.step({ sequences, loss: LOSSES.SFT, lr: 1e-6 });
  const { loss } = await step();
  const times: number[] = [];
  for (let i = 0; i < turns; i++) times.push(await timeMs(step));
  await trainer.close();
  return { train: (1000 * trainRows * length) / median(times), loss };
}

try {
  console.log(JSON.stringify({ ...(await generate()), ...(await train()) }));
} catch (error) {
  console.log(JSON.stringify({ reason: messageOf(error) }));
}
