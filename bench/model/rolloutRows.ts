/**
 * Group rollouts with long-tailed lengths: continuous against static batching, transformers and llama.cpp.
 *
 * Everyone has the same weights and prompts, draws at temperature 1 from the whole vocabulary, and gives
 * every rollout its own, same number of tokens; the engine does not know it beforehand. Log-probs have to
 * agree first. Where a side can be run in several ways (rows at once, form of the cache), the fastest of one
 * turn each is taken.
 */
import type { Generation } from '../../model/engine.ts';
import { EmbeddedEngine } from '../../model/rollout/embeddedEngine.ts';
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

interface Work {
  readonly prompts: readonly Int32Array[];
  /** By rollout; those of a question are next to one another. */
  readonly lengths: readonly number[];
  readonly tokens: number;
}

/** Milliseconds that the whole work takes. */
type Run = () => Promise<number>;
/** A way of running it; the fastest is measured. */
type Ways = Readonly<Record<string, Run>>;

interface Rival {
  readonly against: string;
  readonly goal: number;
  readonly script: string;
  readonly modules: readonly Module[];
  ways(yardstick: Yardstick, path: string, work: Work): Promise<Ways>;
}

const RIVALS: readonly Rival[] = [
  {
    against: 'transformers generate',
    goal: 5,
    script: 'generate',
    modules: ['torch', 'transformers'],
    async ways(yardstick, path, work) {
      await yardstick.ask('open', { path, threads: THREADS });
      const prompts = work.lengths.map((_, i) => [...work.prompts[Math.floor(i / GROUP)]!]);
      const run = (rows: number) => async () => {
        const asked = { prompts, lengths: work.lengths, rows };
        return (await yardstick.ask<{ ms: number }>('generate', asked)).ms;
      };
      return { '64 rows': run(64), '256 rows': run(256) };
    },
  },
  {
    against: 'llama.cpp, float32',
    goal: 1,
    script: 'llama',
    modules: ['transformers', 'gguf', 'llama_cpp'],
    async ways(yardstick, path, work) {
      const file = `${path}.gguf`;
      await yardstick.ask('convert', { folder: path, path: file });
      const prompts = work.prompts.map((tokens) => [...tokens]);
      let current = '';
      const open = async (rows: number, unified: boolean) => {
        const way = JSON.stringify([rows, unified]);
        const shape = { rows, context: PROMPT + TAIL.max + 1, unified };
        if (way !== current)
          await yardstick.ask('open', { path: file, threads: THREADS, ...shape });
        current = way;
      };
      const run = (rows: number, unified: boolean) => async () => {
        await open(rows, unified);
        const asked = { prompts, group: GROUP, lengths: work.lengths, rows };
        return (await yardstick.ask<{ ms: number }>('generate', asked)).ms;
      };
      await open(ROWS, false);
      return { 'a cache each': run(ROWS, false), 'one cache': run(ROWS, true) };
    },
  },
];

export async function rolloutRows(bench: Bench): Promise<AnyRow[]> {
  const path = await weightsFolder(bench, '4M');
  const questions = bench.quick ? 1 : 64;
  const lengths = longTailed(questions * GROUP, TAIL);
  const work: Work = {
    prompts: Array.from({ length: questions }, (_, i) => prompt(SHAPES['4M'], `${i}`, PROMPT)),
    lengths,
    tokens: lengths.reduce((sum, length) => sum + length, 0),
  };
  const what = `${questions} x ${GROUP} rollouts, long-tailed, 4M, ${THREADS} thr`;
  const rows: AnyRow[] = await batchingRows(bench, what, path, work);
  for (const rival of RIVALS) rows.push(await rivalRow(bench, what, path, work, rival));
  return rows;
}

function openEngine(weights: string): Promise<EmbeddedEngine> {
  const contextMax = PROMPT + TAIL.max + 1;
  return EmbeddedEngine.create({ weights, threads: THREADS, rowsMax: ROWS, contextMax, clock });
}

/** Rollouts [first, end) at once; `lengths` as they are, or others. */
function generateAll(
  engine: EmbeddedEngine,
  { prompts, lengths }: Pick<Work, 'prompts' | 'lengths'>,
  [first, end]: readonly [number, number] = [0, lengths.length],
): Promise<readonly Generation[]> {
  const ids = Array.from({ length: end - first }, (_, i) => first + i);
  return Promise.all(
    ids.map((id) => engine.generate(request(prompts[Math.floor(id / GROUP)]!, lengths[id]!, id))),
  );
}

/** A new engine each time: what an earlier run has cached would help. */
async function continuous(path: string, work: Work): Promise<number> {
  const engine = await openEngine(path);
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
  const engine = await openEngine(path);
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

async function rivalRow(
  bench: Bench,
  what: string,
  path: string,
  work: Work,
  { against, goal, script, modules, ways }: Rival,
): Promise<AnyRow> {
  const yardstick = Yardstick.start(script, modules);
  if (!(yardstick instanceof Yardstick)) return { what, against, reason: yardstick.reason };
  try {
    const possible = await ways(yardstick, path, work);
    await agree(path, work, yardstick, against);
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
async function agree(path: string, work: Work, yardstick: Yardstick, against: string) {
  const engine = await openEngine(path);
  try {
    const asked = { ...work, lengths: [64] };
    const [made] = await generateAll(engine, asked);
    const tokens = [...work.prompts[0]!, ...made!.tokens];
    const scores = (await yardstick.ask<number[]>('score', { tokens })).slice(PROMPT - 1);
    for (const [i, logProb] of made!.logProbs.entries())
      mustAgree(`log-prob of token ${i} with ${against}`, logProb, scores[i]!);
  } finally {
    await engine.close();
  }
}
