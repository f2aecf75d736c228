import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { draws } from '../../base/draws.ts';
import { evaluate, evaluateSettings, planEvaluation } from '../../jobs/evaluate.ts';
import { type AskModel, jury } from '../../operators/metrics/graders/jury.ts';
import { benchmarkTable } from '../../operators/metrics/table.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import { fakeTools } from '../../testing/fakeTools.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { scriptedPolicy, shuffledTurns } from '../../testing/scriptedPolicy.ts';
import { type Fate, mortalLog } from '../support/mortalLog.ts';
import { readRun, sloppy } from '../support/tinyCalibration.ts';
import { tinyDialect, tinyWords } from '../support/tinyWords.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'millrace-evaluate-'));
  const rows = (name: string, ability: string, from: number) =>
    Array.from({ length: 6 }, (_, i) => ({
      id: `${name}-${i}`,
      source: name,
      ability,
      question: `What is ${i} + ${from}?`,
      answers: [String(i + from)],
    }));
  const text = (all: readonly unknown[]) => all.map((row) => `${JSON.stringify(row)}\n`).join('');
  await writeFile(join(root, 'sums.jsonl'), text(rows('sums', 'math', 3)));
  await writeFile(join(root, 'facts.jsonl'), `${text(rows('facts', 'qa', 1))}{"id": 1}\n`);
  await writeFile(join(root, 'bad.jsonl'), '{"id": "x"}\n');
});
afterAll(() => rm(root, { recursive: true }));

const paths = () => ['sums.jsonl', 'facts.jsonl'].map((name) => ({ path: join(root, name) }));

interface Options {
  readonly folder: string;
  readonly rollouts?: number;
  readonly judge?: AskModel;
  readonly timing?: number;
  readonly fate?: Fate;
}

/** Runs the job, or resumes it, to its end or its death. */
async function evaluated({ folder, rollouts = 2, judge, timing = 0, fate }: Options) {
  const clock = manualClock();
  const real = await openLog({ folder: join(folder, 'log'), mode: 'write', clock });
  const mortal = mortalLog(real, fate ?? { commitsLeft: 1e9, lastIsWritten: true });
  const turns = shuffledTurns(timing);
  const delay = async (): Promise<void> => {
    await turns();
    await mortal.life();
  };
  const tokenizer = tinyWords;
  const base = join(folder, 'policy.safetensors');
  if (!existsSync(base)) await writeFile(base, 'weights');
  const engine = scriptedPolicy({ tokenizer, script: sloppy, delay });
  const owned: { close(): Promise<void> }[] = [];
  try {
    const flow = await evaluate(
      {
        run: 'tiny',
        folder,
        seed: 7,
        log: mortal.log,
        clock,
        print: () => undefined,
        settings: evaluateSettings.parse({
          rollouts,
          temperature: 1,
          concurrency: 3,
          callLimit: 2,
        }),
        own: (resource) => {
          owned.push(resource);
          return resource;
        },
      },
      {
        engine,
        base,
        dialect: tinyDialect(['search']),
        plan: await planEvaluation(paths(), 500),
        tools: fakeTools({ answers: { search: (q) => `two ${q}` }, delay }),
        jury: judge === undefined ? null : jury({ seed: 7, judge, sleep: async () => undefined }),
      },
    );
    return await runFlow(flow, { log: mortal.log, clock, graceMs: 2000 }).catch((error) => {
      if (mortal.dead) return 'killed' as const;
      throw error;
    });
  } finally {
    for (const resource of owned.reverse()) await resource.close();
    await real.close();
  }
}

const fresh = () => mkdtemp(join(root, 'run-'));

/** What an evaluation found, whatever the order in which it was found. */
async function found(folder: string) {
  const { scored, metrics, rollouts, deadLetters, lags } = await readRun(folder);
  const groups = scored.sort((a, b) => (a.question.id < b.question.id ? -1 : 1));
  return {
    table: benchmarkTable(groups, { seed: 1, order: ['sums', 'facts'] }),
    rewards: groups.map(({ rewards }) => rewards),
    numbers: Object.fromEntries(metrics.map(({ name, value }) => [name, value])),
    metrics: metrics.map(({ name }) => name),
    rollouts: rollouts.map(({ id }) => id).sort(),
    deadLetters: deadLetters.map(({ place, field }) => [place, field]),
    lags,
  };
}

describe('evaluate', () => {
  test('measures every question of every file once, and records each number in scored', async () => {
    const folder = await fresh();
    expect(await evaluated({ folder })).toBe('quiescent');
    const { table, rollouts, numbers, deadLetters, lags } = await found(folder);
    expect(rollouts).toHaveLength(24);
    expect(new Set(rollouts).size).toBe(24);
    expect(lags).toEqual([]);
    expect(deadLetters).toEqual([[7, 'id']]);
    expect(
      table.rows.map(({ source, questions, responses }) => [source, questions, responses]),
    ).toEqual([
      ['sums', 6, 12],
      ['facts', 6, 12],
    ]);
    expect(numbers['eval/questions']).toBe(12);
    expect(numbers['eval/sums/correctness']).toBe(table.rows[0]!.correctness);
    expect(numbers['eval/facts/efficiency']).toBe(table.rows[1]!.efficiency);
    expect(numbers['eval/pass@2']).toBeGreaterThan(numbers['eval/pass@1']!);
    expect(numbers['eval/successful_execution']).toBeGreaterThan(0);
  });

  test('finds the same whatever the timing, and killed at any commit and resumed', async () => {
    const folder = await fresh();
    await evaluated({ folder, timing: 1 });
    const undisturbed = await found(folder);
    for (let seed = 0; seed < 4; seed++) {
      const again = await fresh();
      const chance = draws('evaluation kills', seed);
      let kills = 0;
      for (let start = 0; ; start++) {
        const commitsLeft = chance.integer(start, 8);
        const fate = { commitsLeft, lastIsWritten: chance.uniform(start) < 0.5 };
        if ((await evaluated({ folder: again, timing: start, fate })) !== 'killed') break;
        kills++;
      }
      expect(kills).toBeGreaterThan(0);
      expect(await found(again)).toEqual(undisturbed);
    }
  });

  test('records the verdicts of a judge, which make the score of mathematics', async () => {
    const folder = await fresh();
    const judge: AskModel = async ({ draws: [, id] }) => {
      await new Promise((resolve) => setImmediate(resolve));
      return id === 'sums-1' ? null : 'Correct';
    };
    await evaluated({ folder, rollouts: 1, judge });
    const { table, rewards } = await found(folder);
    expect(table.rows.map(({ measure }) => measure)).toEqual(['judge', 'f1']);
    for (const { parts, score } of rewards.slice(6).flat()) expect(score).toBe(parts.judged);
    const sure = rewards.flat().filter(({ parts }) => parts.judgeFailed === 0 && parts.valid === 1);
    expect(sure.every(({ parts }) => parts.judged === 1)).toBe(true);
  });
});

describe('the plan of an evaluation', () => {
  const ids = async (limit: number, ...names: string[]) => {
    const { items, ...rest } = await planEvaluation(
      names.map((name) => ({ path: join(root, name) })),
      limit,
    );
    return { ...rest, dead: items.filter((item) => 'deadLetter' in item).length };
  };

  test('takes the first questions of each file, in their order', async () => {
    expect(await ids(4, 'sums.jsonl', 'facts.jsonl')).toEqual({
      questions: 8,
      dead: 0,
      sources: ['sums', 'facts'],
    });
  });

  test('asks a question once even if it is in two files', async () => {
    expect(await ids(500, 'sums.jsonl', 'sums.jsonl')).toMatchObject({ questions: 6, dead: 6 });
  });

  test('of nothing is refused with what was wrong', async () => {
    await expect(ids(500, 'bad.jsonl')).rejects.toThrow(
      /no usable question in .*bad\.jsonl; first row: question is missing\. A benchmark is recognised/,
    );
  });
});
