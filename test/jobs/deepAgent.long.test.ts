/**
 * A whole deep-agent job over fakes: episodes that search, call and fold, ToolPO, a trainer whose weights are
 * a digest.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { draws } from '../../base/draws.ts';
import { deepAgent, deepAgentSettings, deepAgentTools, docOf } from '../../jobs/deepAgent.ts';
import type { Job, JobContext } from '../../jobs/defineJob.ts';
import { trainPolicy } from '../../jobs/method.ts';
import { verify } from '../../jobs/replay/verify.ts';
import { callTools } from '../../operators/callTools.ts';
import { deepDialect } from '../../operators/deepAgent/deepDialect.ts';
import { bm25Retriever } from '../../operators/tools/retrieval/bm25Retriever.ts';
import { pureTool } from '../../operators/tools/tool.ts';
import { followControl } from '../../streams/control.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { type ScriptLine, scriptedPolicy, shuffledTurns } from '../../testing/scriptedPolicy.ts';
import { topics } from '../../topics/index.ts';
import { byteBpe } from '../support/byteBpe.ts';
import { fakeTrainer } from '../support/fakeTrainer.ts';
import { temporaryFolder } from '../support/folder.ts';
import { oneLife, readRun, tinyContext, tinyRows } from '../support/tinyCalibration.ts';

const tokenizer = byteBpe();
const settings = deepAgentSettings.parse({
  ...{ explore: 6, heldOut: 2, evaluationRollouts: 1, rollouts: 3, batchGroups: 3, rounds: 2 },
  ...{ concurrency: 2, responseMax: 6000 },
  episode: { actions: 6, folds: 1, context: 8000, top: 2, callCharacters: 60 },
});
type Settings = typeof settings;

const library = ['add', 'subtract'].map((name) => ({
  ...pureTool(name, `Can ${name} two numbers.`, (input) => {
    const { a, b } = JSON.parse(input) as { a: number; b: number };
    return JSON.stringify({ sum: name === 'add' ? a + b : a - b, note: 'x'.repeat(a * 10) });
  }),
  parameters: {
    type: 'object' as const,
    properties: { a: { type: 'integer' }, b: { type: 'integer' } },
    required: ['a', 'b'],
  },
}));

/** Searches, calls, folds and answers as its draws say; better with every version. */
function wandering({ context, draws: own, version }: ScriptLine): string {
  const chance = own.under('version', version);
  const [, a, b] = /What is (\d) \+ (\d)/.exec(context) ?? [];
  const which = chance.uniform(0);
  if (which < 0.25) return `I look.<tool_search>add ${chance.integer(1, 3)} numbers</tool_search>`;
  if (which < 0.5)
    return `<tool_call>{"name": "add", "arguments": {"a": ${a}, "b": ${b}}}</tool_call>`;
  if (which < 0.6) return '<tool_call>{"name": "add", "arguments": {"a": "x"}}</tool_call>';
  if (which < 0.75) return 'Too long.<fold_thought>';
  return `So \\boxed{${Number(a) + Number(b) + (chance.uniform(1) < 0.4 ? 1 : 0)}}<|im_end|>`;
}

interface Seen {
  auxiliary: number;
  calls: number;
}

async function wire(
  context: JobContext<Settings>,
  delay: () => Promise<void>,
  seen: Seen = { auxiliary: 0, calls: 0 },
) {
  const { folder, seed } = context;
  const base = join(folder, 'base.safetensors');
  if (!existsSync(base)) await writeFile(base, 'base weights');
  const dialect = deepDialect({
    tokenizer,
    prompt: (message) => tokenizer.encode(message, { tags: false }),
    form: 'open',
    mode: 'repaired',
    first: (text) => ({ text: `${text}\nGo:`, anchor: 'Go:', at: text.length + 1 }),
  });
  const passages = library.map((tool) => ({ id: tool.name, contents: docOf(tool).description }));
  const tools = deepAgentTools(context.settings, {
    library,
    seed,
    retriever: await bm25Retriever(passages, new AbortController().signal),
    auxiliary: async ({ purpose, draws: key }) => {
      seen.auxiliary += 1;
      await delay();
      const memory = {
        immediate_goal: String(draws(...key).integer(0, 1000)),
        current_challenges: '',
        next_actions: [],
      };
      return purpose === 'working'
        ? JSON.stringify(memory)
        : `short ${draws(...key).integer(0, 1000)}`;
    },
  });
  const box = callTools(tools, { clock: context.clock });
  const engine = scriptedPolicy({ tokenizer, script: wandering, delay, contextMax: 12_000 });
  const parts = {
    ...{ engine, base, dialect },
    trainer: fakeTrainer({ before: delay }),
    tools: {
      ...box,
      call: async (...given: Parameters<typeof box.call>) => {
        seen.calls += 1;
        await delay();
        return box.call(...given);
      },
    },
  };
  const flow = await trainPolicy(context, parts, { train: tinyRows() }, [
    deepAgent(context.settings, { dialect, library }),
  ]);
  return { flow, engine };
}

async function life(folder: string, timing: number, commitsLeft = 1e9) {
  const fate = { commitsLeft, lastIsWritten: timing % 2 === 0 };
  return oneLife({ folder, timing, fate }, async (log, delay) => {
    const told = await followControl(log);
    const { context, close } = tinyContext(settings, { folder }, log, told);
    context.own(told);
    return { ...(await wire(context, delay)), close };
  });
}

async function foldsOf(folder: string) {
  const log = await openLog({ folder: join(folder, 'log'), mode: 'read' });
  const tapped$ = log.tap(topics.folds, { from: { kind: 'earliest' }, follow: false });
  const folds = (await lastValueFrom(tapped$.pipe(toArray()))).map(({ value }) => value);
  await log.close();
  return folds;
}

describe('the job', () => {
  const whole = temporaryFolder();
  const others: ReturnType<typeof temporaryFolder>[] = [];
  beforeAll(async () => {
    expect((await life(whole.path, 1)).end).toBe('quiescent');
  });
  afterAll(() => {
    for (const folder of [whole, ...others]) folder.remove();
  });
  const fresh = (): string => {
    const folder = temporaryFolder();
    others.push(folder);
    return folder.path;
  };

  test('trains on episodes with searches, calls and folds, and records all of them', async () => {
    const run = await readRun(whole.path);
    expect(run.weights).toHaveLength(5);
    expect(run.deadLetters).toEqual([]);
    const episodes = run.rollouts.map(({ episode }) => episode!);
    expect(run.rollouts.every(({ status }) => status === 'done')).toBe(true);
    const kinds = new Set(
      episodes.flatMap(({ actions }) => actions.map(({ kind, ok }) => `${kind} ${ok}`)),
    );
    expect([...kinds].sort()).toEqual([
      'call false',
      'call true',
      'fold false',
      'fold true',
      'search false',
      'search true',
    ]);
    const tools = new Set(run.toolCalls.map(({ tool }) => tool));
    expect([...tools].sort()).toEqual(['condense', 'remember', 'tool_call', 'tool_search']);
    const folds = await foldsOf(whole.path);
    expect(folds).toHaveLength(episodes.flatMap((one) => one.folds).length);
    expect(folds.length).toBeGreaterThan(5);
    expect(folds.every(({ madeUp }) => madeUp.join() === 'episodic,tool')).toBe(true);
    // Right calls are worth something, so actions have advantages of their own.
    const trained = run.scored.filter(({ question }) => question.phase === 'explore');
    expect(trained.some(({ actionAdvantages }) => actionAdvantages.some((one) => one !== 0))).toBe(
      true,
    );
  });

  test('is recomputed bit for bit from its record, without requests', async () => {
    const scratch = fresh();
    mkdirSync(join(scratch, 'log'));
    const recorded = await openLog({ folder: join(whole.path, 'log'), mode: 'read' });
    const log = await openLog({ folder: join(scratch, 'log'), mode: 'write' });
    const seen: Seen = { auxiliary: 0, calls: 0 };
    const job: Job = {
      name: 'tiny-deep',
      about: '',
      settings: deepAgentSettings,
      build: async (context) => {
        const { flow } = await wire(context as JobContext<Settings>, shuffledTurns(9), seen);
        return flow;
      },
    };
    const found = await verify({
      ...{ job, run: 'tiny', seed: 7, settings, folder: scratch, recorded, scratch: log },
      clock: manualClock(5),
      signal: new AbortController().signal,
      print: () => undefined,
    });
    await log.close();
    await recorded.close();
    expect(found.difference).toBeNull();
    expect(found).toMatchObject({ stopped: false, weights: 5 });
    expect(seen).toEqual({ auxiliary: 0, calls: 0 });
    const run = await readRun(whole.path);
    expect(found.equal).toMatchObject({
      rollouts: run.rollouts.length,
      'tool-calls': run.toolCalls.length,
      folds: (await foldsOf(whole.path)).length,
    });
  });

  test('comes to the same weights when it is killed again and again', async () => {
    const folder = fresh();
    const stream = draws('deep-kill', 3);
    let killed = 0;
    for (let start = 0; start < 200; start++) {
      const { end } = await life(folder, 100 + start, 5 + stream.integer(start, 25));
      if (end === 'quiescent') break;
      killed += 1;
    }
    expect(killed).toBeGreaterThan(2);
    const digests = async (path: string) =>
      (await readRun(path)).weights.map(({ digest }) => digest);
    expect(await digests(folder)).toEqual(await digests(whole.path));
    expect((await foldsOf(folder)).map(({ promptDigest }) => promptDigest).sort()).toEqual(
      (await foldsOf(whole.path)).map(({ promptDigest }) => promptDigest).sort(),
    );
  });
});
