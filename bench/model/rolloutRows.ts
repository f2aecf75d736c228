/**
 * Group rollouts with long-tailed lengths: continuous against static batching, transformers and llama.cpp.
 *
 * Everyone has the same weights and prompts, draws at temperature 1 from the whole vocabulary, and gives
 * every rollout its own, same number of tokens; the engine does not know it beforehand. Log-probs have to
 * agree first. Where a side can be run in several ways (rows at once, form of the cache), the fastest of one
 * turn each is taken.
 */
import type { Generation } from '../../model/engine.ts';
import { EmbeddedEngine, type EmbeddedEngineOptions } from '../../model/rollout/embeddedEngine.ts';
import { timeMs } from '../table.ts';
import { type AnyRow, type Bench, clock, mustAgree, rates, weightsFolder } from './bench.ts';
import { type Module, Yardstick } from './python.ts';
import { longTailed, prompt, request } from './sequences.ts';
import { SHAPES } from './shapes.ts';
import { inTurns } from './turns.ts';

const THREADS = 2;
const GROUP = 16;
const PROMPT = 64;
const TAIL = { median: 48, max: 447 };
const ROWS = 64;

/** Rollouts to make, and what makes them. */
export interface Work {
  readonly prompts: readonly Int32Array[];
  /** By rollout; those of a question are next to one another. */
  readonly lengths: readonly number[];
  readonly tokens: number;
  /** Rollouts of a question. */
  readonly group: number;
  /** At once. */
  readonly rows: number;
  readonly threads: number;
  /** Of our weights. */
  readonly bits?: EmbeddedEngineOptions['bits'];
}

/** Milliseconds that the whole work takes. */
type Run = () => Promise<number>;
/** A way of running it; the fastest is measured. */
type Ways = Readonly<Record<string, Run>>;

export interface Rival {
  readonly against: string;
  readonly goal: number | null;
  /** How far its log-probs may lie from ours, in nats. */
  readonly within?: number;
  readonly script: string;
  readonly modules: readonly Module[];
  ways(yardstick: Yardstick, path: string, work: Work): Promise<Ways>;
}

/** `generate` of transformers, a static batch of each of these sizes. */
export function transformers(goal: number, sizes: readonly number[]): Rival {
  return {
    against: 'transformers generate',
    goal,
    script: 'generate',
    modules: ['torch', 'transformers'],
    async ways(yardstick, path, { prompts, group, lengths, threads }) {
      await yardstick.ask('open', { path, threads });
      const all = lengths.map((_, i) => [...prompts[Math.floor(i / group)]!]);
      const run = (rows: number) => async () => {
        const asked = { prompts: all, lengths, rows };
        return (await yardstick.ask<{ ms: number }>('generate', asked)).ms;
      };
      return Object.fromEntries(sizes.map((rows) => [`${rows} rows`, run(rows)]));
    },
  };
}

/** llama.cpp with weights and cache in this precision. */
export function llamaCpp(goal: number | null, half: boolean): Rival {
  return {
    against: `llama.cpp, ${half ? 'float16' : 'float32'}`,
    goal,
    ...(half ? { within: 0.05 } : {}),
    script: 'llama',
    modules: ['torch', 'transformers', 'gguf', 'llama_cpp'],
    async ways(yardstick, path, work) {
      const { group, lengths, rows, threads } = work;
      const file = `${path}.${half ? 'f16' : 'f32'}.gguf`;
      await yardstick.ask('convert', { folder: path, path: file, half });
      const prompts = work.prompts.map((tokens) => [...tokens]);
      let current: boolean | null = null;
      const open = async (unified: boolean) => {
        const shape = { rows, context: contextOf(work), unified, half };
        if (unified !== current) await yardstick.ask('open', { path: file, threads, ...shape });
        current = unified;
      };
      const run = (unified: boolean) => async () => {
        await open(unified);
        return (await yardstick.ask<{ ms: number }>('generate', { prompts, group, lengths, rows }))
          .ms;
      };
      await open(false);
      return { 'a cache each': run(false), 'one cache': run(true) };
    },
  };
}

/** Tokens of the longest rollout with its prompt. */
function contextOf({ prompts, lengths }: Work): number {
  return prompts[0]!.length + Math.max(...lengths) + 1;
}

export async function rolloutRows(bench: Bench): Promise<AnyRow[]> {
  const path = await weightsFolder(bench, '4M');
  const questions = bench.quick ? 1 : 64;
  const lengths = longTailed(questions * GROUP, TAIL);
  const work: Work = {
    prompts: Array.from({ length: questions }, (_, i) => prompt(SHAPES['4M'], `${i}`, PROMPT)),
    lengths,
    tokens: lengths.reduce((sum, length) => sum + length, 0),
    group: GROUP,
    rows: ROWS,
    threads: THREADS,
  };
  const what = `${questions} x ${GROUP} rollouts, long-tailed, 4M, ${THREADS} thr`;
  const rows: AnyRow[] = await batchingRows(bench, what, path, work);
  for (const rival of [transformers(5, [64, 256]), llamaCpp(1, false)])
    rows.push(await rivalRow(bench, what, path, work, rival));
  return rows;
}

function openEngine(weights: string, work: Work): Promise<EmbeddedEngine> {
  const { threads, rows: rowsMax, bits = 'float32' } = work;
  const sizes = { rowsMax, contextMax: contextOf(work) };
  return EmbeddedEngine.create({ weights, threads, bits, clock, ...sizes });
}

/** Rollouts [first, end) at once; `lengths` as they are, or others. */
function generateAll(
  engine: EmbeddedEngine,
  { prompts, lengths, group }: Work,
  [first, end]: readonly [number, number] = [0, lengths.length],
): Promise<readonly Generation[]> {
  const ids = Array.from({ length: end - first }, (_, i) => first + i);
  return Promise.all(
    ids.map((id) => engine.generate(request(prompts[Math.floor(id / group)]!, lengths[id]!, id))),
  );
}

/** A new engine each time: what an earlier run has cached would help. */
async function continuous(path: string, work: Work): Promise<number> {
  const engine = await openEngine(path, work);
  try {
    return await timeMs(() => generateAll(engine, work));
  } finally {
    await engine.close();
  }
}

/**
 * Batch by batch, each until its longest rollout ends; the others either go on in vain (`padded`: a static
 * batch keeps its shape) or leave and make the batch smaller.
 */
async function batchwise(path: string, work: Work, padded: boolean): Promise<number> {
  const engine = await openEngine(path, work);
  try {
    return await timeMs(async () => {
      for (let first = 0; first < work.lengths.length; first += ROWS) {
        const end = Math.min(first + ROWS, work.lengths.length);
        const longest = Math.max(...work.lengths.slice(first, end));
        const lengths = padded ? work.lengths.map(() => longest) : work.lengths;
        await generateAll(engine, { ...work, lengths }, [first, end]);
      }
    });
  } finally {
    await engine.close();
  }
}

async function batchingRows(bench: Bench, what: string, path: string, work: Work) {
  const turns = bench.quick ? 1 : 3;
  const sides = {
    ours: () => continuous(path, work),
    padded: () => batchwise(path, work, true),
    leaving: () => batchwise(path, work, false),
  };
  const { medians, note } = await inTurns(turns, sides, { warm: false });
  const speed = (ms: number) => (1000 * work.tokens) / ms;
  const row = (against: string, ms: number, goal: number | null) =>
    rates(
      what,
      against,
      { ours: speed(medians.ours), theirs: speed(ms) },
      { unit: 'tokens/s', goal, note },
    );
  return [
    row('own static batches', medians.padded, 1.8),
    row('own static batches, ended rows leave', medians.leaving, null),
  ];
}

/** Our engine against another, each making the whole work. */
export async function rivalRow(
  bench: Bench,
  what: string,
  path: string,
  work: Work,
  rival: Rival,
): Promise<AnyRow> {
  const { against, goal, script, modules } = rival;
  const yardstick = Yardstick.start(script, modules);
  if (!(yardstick instanceof Yardstick)) return { what, against, reason: yardstick.reason };
  try {
    const possible = await rival.ways(yardstick, path, work);
    await agree(path, work, yardstick, rival);
    const tried: { readonly way: string; readonly run: Run; readonly ms: number }[] = [];
    for (const [way, run] of Object.entries(possible)) tried.push({ way, run, ms: await run() });
    const best = tried.reduce((least, each) => (each.ms < least.ms ? each : least));
    const sides = { ours: () => continuous(path, work), theirs: best.run };
    const options = { pids: [yardstick.pid], warm: false };
    const { medians, note } = await inTurns(bench.quick ? 1 : 3, sides, options);
    const speed = (ms: number) => (1000 * work.tokens) / ms;
    return rates(
      what,
      `${against} (${best.way})`,
      { ours: speed(medians.ours), theirs: speed(medians.theirs) },
      { unit: 'tokens/s', goal, note },
    );
  } finally {
    await yardstick.close();
  }
}

/** The log-probs of one of our rollouts, as they see them. */
async function agree(path: string, work: Work, yardstick: Yardstick, { against, within }: Rival) {
  const engine = await openEngine(path, work);
  try {
    const asked = { ...work, lengths: work.lengths.slice(0, 1) };
    const [made] = await generateAll(engine, asked);
    const tokens = [...work.prompts[0]!, ...made!.tokens];
    const scores = (await yardstick.ask<number[]>('score', { tokens })).slice(
      work.prompts[0]!.length - 1,
    );
    for (const [i, logProb] of made!.logProbs.entries())
      mustAgree(`log-prob of token ${i} with ${against}`, logProb, scores[i]!, within);
  } finally {
    await engine.close();
  }
}
