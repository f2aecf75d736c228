/**
 * Jobs with three tools, one of them the user's own, and a policy that calls all three: everything that reads
 * a trajectory counts the third as it does the papers' two. What is expected is counted here by other means,
 * from the closing tags.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { evaluate, evaluateSettings, planEvaluation } from '../../jobs/evaluate.ts';
import { callTools } from '../../operators/callTools.ts';
import { benchmarkTable } from '../../operators/metrics/table.ts';
import type { Tool } from '../../operators/tools/tool.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { type ScriptLine, scriptedPolicy } from '../../testing/scriptedPolicy.ts';
import type { Scored } from '../../topics/index.ts';
import {
  type RunRecords,
  readRun,
  tinyCalibration,
  tinyContext,
} from '../support/tinyCalibration.ts';
import { tinyDialect, tinyWordsWith } from '../support/tinyWords.ts';

const TOOLS = ['search', 'python', 'calculator'];
const tokenizer = tinyWordsWith(TOOLS);

/** The sum of the digits in an input. */
const added = (input: string): string =>
  String([...input.matchAll(/\d+/g)].reduce((sum, [digits]) => sum + Number(digits), 0));
const answers = { search: () => 'two', python: () => '3', calculator: added };

/**
 * Calls the calculator, or another tool first and then the calculator, or none, or leaves a call of it open.
 */
function handy({ context, draws }: ScriptLine): string {
  const [, a, b] = /(\d) ?\+ ?(\d)/.exec(context) ?? [];
  const chance = draws.uniform(0);
  const calls = callsOf(context);
  const made = TOOLS.filter((tool) => calls[tool]! > 0);
  const call = (tool: string, input: string) => `<think>So</think><${tool}>${input}</${tool}>`;
  const answer = (opened = '') => {
    const sum = Number(a) + Number(b) + (draws.uniform(1) < 0.7 ? 0 : 1);
    return `<think>So it is ${sum}.</think>${opened}<answer>\\boxed{${sum}}</answer><|end|>`;
  };
  if (made.length === 0) {
    if (chance < 0.3) return call('calculator', `${a} + ${b}`);
    if (chance < 0.5) return call('search', 'one');
    if (chance < 0.7) return call('python', 'two');
    return chance < 0.85 ? answer() : answer('<calculator>1 + 1');
  }
  if (!made.includes('calculator')) return call('calculator', `${a} + ${b}`);
  return made.length === 1 && chance < 0.5 ? call('python', 'three') : answer();
}

function callsOf(text: string): Record<string, number> {
  return Object.fromEntries(TOOLS.map((tool) => [tool, text.split(`</${tool}>`).length - 1]));
}
const total = (text: string): number => Object.values(callsOf(text)).reduce((a, b) => a + b);
const isOpen = (text: string): boolean => text.includes('<calculator>1 + 1<answer>');

interface Response {
  readonly text: string;
  readonly parts: Scored['rewards'][number]['parts'];
  readonly score: number;
  readonly toolCalls: number;
  readonly right: boolean;
}

/** Every scored response with its text. */
function responsesOf({ scored, rollouts }: RunRecords): Response[] {
  return scored.flatMap(({ question, rewards, toolCalls, rollouts: positions }) =>
    rewards.map(({ score, parts }, i) => {
      const { text } = rollouts[positions[i]!.offset]!;
      const right = text.includes(`\\boxed{${question.answers[0]}}`);
      return { text, parts, score, toolCalls: toolCalls[i]!, right };
    }),
  );
}

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'millrace-three-tools-'));
});
afterAll(() => rm(root, { recursive: true }));

describe('a training job with three tools', () => {
  let run: RunRecords;
  beforeAll(async () => {
    const folder = await mkdtemp(join(root, 'run-'));
    const { end } = await tinyCalibration({
      folder,
      script: handy,
      evolve: 6,
      world: { tokenizer, answers },
      settings: { reward: 'hierarchical', responseMax: 200, callLimit: 4 },
    });
    expect(end).toBe('quiescent');
    run = await readRun(folder);
  });

  test('rewards the third tool as it does the others', () => {
    const responses = responsesOf(run);
    for (const { text, right, score, parts, toolCalls } of responses) {
      const used = Object.values(callsOf(text)).filter((calls) => calls > 0).length;
      const bonus = right && used >= 2 ? 0.1 : 0;
      expect(parts.format).toBe(isOpen(text) ? -1 : 0);
      expect(score).toBeCloseTo(isOpen(text) ? -1 : Number(right) + bonus, 12);
      expect(toolCalls).toBe(total(text));
    }
    const seen = new Set(responses.map(({ score }) => Math.round(score * 10)));
    expect([...seen].sort((a, b) => a - b)).toEqual([-10, 0, 10, 11]);
  });

  test('measures its calls', () => {
    const evaluated = run.scored.filter(({ question: { phase } }) => phase === 'evaluate');
    const first = responsesOf({
      ...run,
      scored: evaluated.filter(({ question: { round } }) => round === 0),
    });
    const mean = first.reduce((sum, { text }) => sum + total(text), 0) / first.length;
    const measured = run.metrics.find(({ name }) => name === 'eval/tools_mean');
    expect(measured!.value).toBeCloseTo(mean, 12);
    expect(run.toolCalls.filter(({ tool }) => tool === 'calculator').length).toBeGreaterThan(9);
  });

  test('keeps its calls when the thinking around them is rewritten', () => {
    const refined = run.evolved.filter(
      ({ action, text }) => action === 'refine' && text.includes('<calculator>'),
    );
    expect(refined.length).toBeGreaterThan(0);
    for (const { question, parent, text, toolCalls } of refined) {
      const pool = run.evolved.filter((one) => one.question.id === question.id);
      const from = pool.find(({ index }) => index === parent)!;
      expect(callsOf(text)).toEqual(callsOf(from.text));
      const [block] = /<calculator>.*?<\/result>/s.exec(from.text)!;
      expect(text).toContain(block);
      expect(toolCalls).toBe(total(text));
    }
  });

  test('keeps only demonstrations in which every call of it was answered', () => {
    const kept = run.demonstrations.flatMap((one) => one.kept);
    const why = run.demonstrations.flatMap(({ dropped }) => dropped.map((one) => one.why));
    expect(kept.some(({ text }) => text.includes('</calculator>'))).toBe(true);
    expect(kept.filter(({ text }) => isOpen(text))).toEqual([]);
    expect(why).toContain('malformed: calculator-incomplete');
  });
});

test('an evaluation shows the calls of a user’s own tool as parts and in the table', async () => {
  const folder = await mkdtemp(join(root, 'run-'));
  const rows = Array.from({ length: 9 }, (_, i) =>
    JSON.stringify({
      id: `sum-${i}`,
      source: 'sums',
      ability: 'math',
      question: `What is ${i} + 1?`,
      answers: [String(i + 1)],
    }),
  );
  const path = join(folder, 'sums.jsonl');
  const base = join(folder, 'policy.safetensors');
  await Promise.all([writeFile(path, rows.join('\n')), writeFile(base, 'weights')]);
  const log = await openLog({ folder: join(folder, 'log'), mode: 'write', clock: manualClock() });
  const settings = evaluateSettings.parse({ rollouts: 3, temperature: 1, callLimit: 4 });
  const { context, close } = tinyContext(settings, { folder }, log);
  const tool = (name: string, answer: (input: string) => string): Tool => ({
    name,
    about: '',
    concurrencyMax: 4,
    pure: true,
    run: async (input) => ({ output: answer(input), ok: true }),
    close: async () => undefined,
  });
  const tools = Object.entries(answers).map(([name, answer]) => tool(name, answer));
  const flow = await evaluate(context, {
    base,
    dialect: tinyDialect(TOOLS, tokenizer),
    jury: null,
    engine: scriptedPolicy({ tokenizer, script: handy }),
    plan: await planEvaluation([{ path }], 500),
    tools: callTools(tools, { clock: manualClock() }),
  });
  await runFlow(flow, { log, graceMs: 2000 });
  await Promise.all([close(), log.close()]);

  const run = await readRun(folder);
  const responses = responsesOf(run);
  expect(responses).toHaveLength(27);
  for (const { text, parts } of responses) {
    const { search, python, calculator } = callsOf(text);
    expect(parts).toMatchObject({
      searchCalls: search,
      pythonCalls: python,
      calculatorCalls: calculator,
      toolCalls: total(text),
      format: isOpen(text) ? -1 : 0,
      resultBlocks: total(text),
    });
  }
  const [row] = benchmarkTable(run.scored, { seed: 1 }).rows;
  const mean = (value: (text: string) => number) =>
    responses.reduce((sum, { text }) => sum + value(text), 0) / responses.length;
  expect(row!.toolCalls).toBeCloseTo(mean(total), 12);
  for (const name of TOOLS) {
    expect(row!.metrics.calls[name]).toBeCloseTo(
      mean((text) => callsOf(text)[name]!),
      12,
    );
  }
  expect(row!.metrics.calls.calculator).toBeGreaterThan(0);
});
