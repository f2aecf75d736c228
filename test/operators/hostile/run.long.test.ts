/**
 * A whole run twice, flywheel, fine-tuning and RL on the embedded log: once with a tool that tries
 * everything, once with one that says as much of no interest. Everything but the tool's own words must be
 * equal: rewards and verdicts, what was selected, what was trained on and which of its tokens.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { dialectOf } from '../../../jobs/dialects/dialectOf.ts';
import type { TrainBatch } from '../../../model/engine.ts';
import type { Dialect } from '../../../operators/dialect/dialect.ts';
import { withEmptyResults } from '../../../operators/dialect/results.ts';
import type { ScriptLine } from '../../../testing/scriptedPolicy.ts';
import type { Rollout } from '../../../topics/index.ts';
import { byteBpe, writeByteBpe } from '../../support/byteBpe.ts';
import { HERMES_TOKENS, hermesTemplate } from '../../support/chatTemplates.ts';
import { type FakeTrainer, fakeTrainer } from '../../support/fakeTrainer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { type RunRecords, readRun, tinyCalibration } from '../../support/tinyCalibration.ts';
import { tinyDialect } from '../../support/tinyWords.ts';
import { hostileTexts } from './texts.ts';

const tools = ['search'];
/** A record has whole characters alone. */
const texts = Object.values(hostileTexts).map((text) => text.replace(/[\ud800-\udfff]/g, '?'));

/** By the digits of a query one of the hostile texts. */
const hostile = (query: string) => texts[Number(query.replace(/\D/g, '')) % texts.length]!;

/** As many tokens as the hostile text has in a result, so that every draw stays in its place. */
function harmlessIn(dialect: Dialect): (query: string) => string {
  const length = (output: string): number => dialect.results([output]).length;
  return (query) => 'q'.repeat(length(hostile(query)) - length(''));
}

/** What a policy may say, in the words of its dialect. */
interface Phrases {
  readonly call: (query: string) => string;
  readonly answer: (answer: number) => string;
  readonly end: string;
}

/** Searches, also in the midst of an answer; makes results up; is right now and then. */
function scriptIn({ call, answer, end }: Phrases): (line: ScriptLine) => string {
  return ({ context, draws }) => {
    const searched = call(`${draws.integer(1, 10)}${draws.integer(2, 10)}`);
    const [, a, b] = /(\d) ?\+ ?(\d)/.exec(context) ?? [];
    const sum = Number(a) + Number(b) + (draws.uniform(3) < 0.5 ? 0 : 1);
    const answered = `${answer(sum)}${end}`;
    const chance = draws.uniform(0);
    if (chance < 0.4) return `<think>I look it up.</think>${searched}`;
    if (chance < 0.5) return `<think>I</think><answer>\\boxed{${sum}}${searched}`;
    if (chance < 0.55) return `<think>I${searched}`;
    if (chance < 0.65) return `<think>So</think><result>two</result>${answered}`;
    if (chance < 0.7) return `<think>So</think><result>two${answered}`;
    if (chance < 0.75) return `<think>So it is one${end}`;
    return `<think>So it is ${sum}.</think>${answered}`;
  };
}

const inTags = (end: string): Phrases => ({
  call: (query) => `<search>${query}</search>`,
  answer: (answer) => `<answer>\\boxed{${answer}}</answer>`,
  end,
});
const inHermes: Phrases = {
  call: (query) =>
    `<tool_call>\n{"name": "search", "arguments": {"query": "${query}"}}\n</tool_call><|im_end|>`,
  answer: (answer) => `It is \\boxed{${answer}}.`,
  end: '<|im_end|>',
};

interface Made {
  readonly run: RunRecords;
  readonly steps: readonly TrainBatch[];
}

const folder = temporaryFolder();
afterAll(() => folder.remove());

interface Case {
  readonly dialect: () => Promise<Dialect>;
  readonly phrases: Phrases;
  readonly responseMax: number;
}

const bytes = byteBpe();
const cases: Readonly<Record<string, Case>> = {
  'tags of one token': {
    dialect: async () => tinyDialect(tools),
    phrases: inTags('<|end|>'),
    responseMax: 20_000,
  },
  'tags of one token, results cut off': {
    dialect: async () => tinyDialect(tools),
    phrases: inTags('<|end|>'),
    responseMax: 60,
  },
  'tags of many tokens': {
    dialect: async () => tinyDialect(tools, bytes),
    phrases: inTags('<|im_end|>'),
    responseMax: 1200,
  },
  'function calling': {
    dialect: async () => {
      const policy = join(folder.path, 'policy');
      mkdirSync(policy);
      writeByteBpe(policy, hermesTemplate(), { added: HERMES_TOKENS });
      return dialectOf({
        name: 'native',
        folder: policy,
        tools: [{ name: 'search', about: 'Looks things up.' }],
      });
    },
    phrases: inHermes,
    responseMax: 1200,
  },
};

async function made(
  name: string,
  { phrases, responseMax }: Case,
  dialect: Dialect,
  answer: (query: string) => string,
): Promise<Made> {
  const trainer: FakeTrainer = fakeTrainer();
  const home = join(folder.path, name);
  mkdirSync(home);
  const { tokenizer } = dialect;
  const world = { tokenizer, dialect, answers: { search: answer }, trainer };
  const settings = { responseMax, heldOut: 5, explore: 20, keep: 10 };
  const script = scriptIn(phrases);
  await tinyCalibration({ folder: home, settings, script, world, evolve: 8 });
  return { run: await readRun(home), steps: trainer.steps };
}

/** Records in an order of their own, without the places of others: both depend on what was finished first. */
function sorted(records: readonly unknown[]): readonly string[] {
  const measured = 'time/loop_gap_ms';
  const placeless = (name: string, value: unknown) =>
    ['partition', 'offset'].includes(name) ? undefined : value;
  return records
    .map((record) => JSON.stringify(record, placeless))
    .filter((record) => !record.includes(measured))
    .sort();
}

/** A rollout without what the tool said. */
function ownOf({ text, tokens, segments, ...rest }: Rollout) {
  const own = [...tokens].map((token, t) =>
    segments.some(({ kind, start, end }) => kind === 'tool' && start <= t && t < end) ? -1 : token,
  );
  return { ...rest, segments, tokens: own, text: withEmptyResults(text) };
}

function emptied<T extends { readonly text: string }>(one: T): T {
  return { ...one, text: withEmptyResults(one.text) };
}

describe.each(Object.keys(cases))('a run with a hostile tool in %s', (name) => {
  let dialect: Dialect;
  let bad: Made;
  let good: Made;
  beforeAll(async () => {
    dialect = await cases[name]!.dialect();
    bad = await made(`bad ${name}`, cases[name]!, dialect, hostile);
    good = await made(`good ${name}`, cases[name]!, dialect, harmlessIn(dialect));
  });

  test('asks the tool, which says all it can', () => {
    const said = new Set(bad.run.toolCalls.map(({ output }) => output));
    expect(said.size).toBeGreaterThan(texts.length / 2);
    expect([...said].every((output) => texts.includes(output))).toBe(true);
    expect(good.run.toolCalls.every(({ output }) => /^q*$/.test(output))).toBe(true);
    expect(bad.run.rollouts.some(({ text }) => text.includes('< result>two'))).toBe(true);
    expect(bad.run.deadLetters).toEqual([]);
  });

  test('has the same rollouts except for the words of the tool', () => {
    expect(sorted(bad.run.rollouts.map(ownOf))).toEqual(sorted(good.run.rollouts.map(ownOf)));
  });

  test('has the same rewards, verdicts, selections and measurements', () => {
    expect(
      new Set(bad.run.scored.flatMap(({ rewards }) => rewards.map((r) => r.score))).size,
    ).toBeGreaterThan(3);
    for (const topic of ['scored', 'selected', 'batches', 'metrics', 'questions'] as const) {
      expect([topic, sorted(bad.run[topic])]).toEqual([topic, sorted(good.run[topic])]);
    }
  });

  test('makes and keeps the same in the flywheel', () => {
    expect(sorted(bad.run.evolved.map(emptied))).toEqual(sorted(good.run.evolved.map(emptied)));
    const kept = ({ run }: Made) =>
      run.demonstrations.map((record) => ({ ...record, kept: record.kept.map(emptied) }));
    expect(sorted(kept(bad))).toEqual(sorted(kept(good)));
    expect(kept(bad).some((record) => record.kept.length > 0)).toBe(true);
  });

  test('trains on the same tokens with the same advantages', () => {
    const learnt = ({ steps }: Made) =>
      steps.map(({ sequences, loss, lr }) => ({
        loss,
        lr,
        sequences: sequences.map(({ tokens, mask, advantages, oldLogProbs }) => ({
          mask: [...mask],
          advantages: [...advantages],
          oldLogProbs: [...oldLogProbs],
          targets: dialect.tokenizer.decode([...tokens].filter((_, t) => mask[t] === 1)),
        })),
      }));
    expect(bad.steps.length).toBeGreaterThan(3);
    expect(learnt(bad)).toEqual(learnt(good));
    const targets = learnt(bad).flatMap(({ sequences }) => sequences.map((one) => one.targets));
    expect(targets.filter((text) => text.includes('boxed{42}'))).toEqual([]);
  });
});
