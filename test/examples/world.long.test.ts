import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import {
  answers,
  demonstrate,
  HABITS,
  habitDraws,
  type Piece,
} from '../../examples/quickstart/world/demonstrations.ts';
import { writeWorld } from '../../examples/quickstart/world/files.ts';
import {
  FIRM_NAMES,
  FIRST_NAMES,
  LAST_NAMES,
  RIVERS,
  TOWNS,
} from '../../examples/quickstart/world/names.ts';
import {
  KINDS,
  type Kind,
  makeTasks,
  type Step,
  type Task,
} from '../../examples/quickstart/world/tasks.ts';
import { vocabulary } from '../../examples/quickstart/world/vocabulary.ts';
import { makeWorld, type World } from '../../examples/quickstart/world/world.ts';
import { worlds } from '../../examples/quickstart/world/worlds.ts';
import { dialectOf } from '../../jobs/dialects/dialectOf.ts';
import { wordTokenizer } from '../../model/wordTokenizer.ts';
import { resultTokens } from '../../operators/dialect/resultBlock.ts';
import { readQuestions } from '../../sources/questions.ts';
import { temporaryFolder } from '../support/folder.ts';

const { train: TRAIN, heldOut: HELD_OUT } = worlds.small;
const world = makeWorld(1);
const tasks = makeTasks(world, 'train', TRAIN);
const heldOut = makeTasks(
  world,
  'heldout',
  HELD_OUT,
  new Set(tasks.map(({ question }) => question)),
);
const tokenizer = wordTokenizer(vocabulary());
const BASE = fileURLToPath(new URL('../../examples/quickstart/base', import.meta.url));
const { prompt: ask } = await dialectOf({ name: 'tags', folder: BASE, tools: [] });
/** Whether `text` holds `part` as whole words. */
const holds = (text: string, part: string): boolean =>
  ` ${text.replace(/[^\p{L}\d]+/gu, ' ')} `.includes(` ${part} `);

describe('the world', () => {
  test('follows from its seed', () => {
    expect(makeWorld(1)).toEqual(world);
    expect(makeTasks(world, 'train', TRAIN)).toEqual(tasks);
    const other = makeWorld(2);
    const towns = new Map(other.towns.map(({ name, river }) => [name, river]));
    const same = world.towns.filter(({ name, river }) => towns.get(name) === river);
    // The names are those of every world; the facts are drawn again, from 40 rivers.
    expect(towns.size).toBe(world.towns.length);
    expect(same.length).toBeLessThan(10);
  });

  test('has an article of its own about everyone and everything', () => {
    const named = [...world.people, ...world.towns, ...world.firms].map(({ name }) => name);
    expect([world.people, world.towns, world.firms].map(({ length }) => length)).toEqual([
      160, 60, 60,
    ]);
    expect(world.articles.map(({ title }) => title)).toEqual(named);
    expect(new Set(named).size).toBe(280);
    const text = new Map(world.articles.map((article) => [article.title, article.text]));
    for (const { name, born, town, firm } of world.people) {
      for (const fact of [name, String(born), town.name, firm.name])
        expect(holds(text.get(name)!, fact)).toBe(true);
    }
  });

  test('has names of one token each, none of them twice', () => {
    const all = [...FIRST_NAMES, ...LAST_NAMES, ...TOWNS, ...RIVERS, ...FIRM_NAMES];
    expect(new Set(all).size).toBe(all.length);
    for (const name of all) expect(tokenizer.encode(name)).toHaveLength(1);
  });
});

/** What the steps of a plan find, in the articles and by arithmetic. */
function found(step: Step, made: World): string {
  if (step.tool === 'search') {
    const article = made.articles.find(({ title }) => title === step.query);
    return article?.text ?? '';
  }
  const [, a, symbol, b] = /^print\((\d+)([-+*])(\d+)\)$/.exec(step.code)!;
  const [x, y] = [Number(a), Number(b)];
  return String(symbol === '+' ? x + y : symbol === '-' ? x - y : x * y);
}

describe('the questions of the world', () => {
  test('differ between training and evaluation', () => {
    const questions = [...tasks, ...heldOut].map(({ question }) => question);
    expect(new Set(questions).size).toBe(TRAIN + HELD_OUT);
    expect(new Set([...tasks, ...heldOut].map(({ id }) => id)).size).toBe(TRAIN + HELD_OUT);
  });

  test('are of five kinds in turn', () => {
    for (const set of [tasks, heldOut]) {
      expect(set.map(({ kind }) => kind)).toEqual(set.map((_, i) => KINDS[i % KINDS.length]));
    }
  });

  test('have answers that their plans reach, step by step', () => {
    for (const { question, plan, answer } of [...tasks, ...heldOut]) {
      let known = question;
      for (const step of plan) {
        const needed = step.tool === 'search' ? [step.query] : step.code.match(/\d+/g)!;
        // A look-up is of something named before; a calculation takes numbers that were read.
        for (const part of needed) expect(holds(known, part)).toBe(true);
        const result = found(step, world);
        expect(
          holds(result, step.tool === 'search' ? step.finds : step.value.replace('-', '')),
        ).toBe(true);
        if (step.tool === 'python') expect(result).toBe(step.value);
        known = `${known} ${result}`;
      }
      const last = plan.at(-1)!;
      expect(last.tool === 'search' ? last.finds : last.value).toBe(answer);
    }
  });

  test('that need a look-up do not give their answer away', () => {
    const asked = [...tasks, ...heldOut].filter(({ kind }) => !['none', 'python'].includes(kind));
    expect(asked.length).toBe((3 / 5) * (TRAIN + HELD_OUT));
    for (const { question, answer } of asked) {
      expect(holds(question, answer)).toBe(false);
      expect(tokenizer.decode(ask(question))).toContain(question);
    }
  });

  test('of a kind need the tools of that kind', () => {
    const shape: Record<Kind, string[]> = {
      none: ['python'],
      python: ['python'],
      search: ['search'],
      hops: ['search', 'search'],
      both: ['search', 'python'],
    };
    for (const { kind, plan } of tasks) expect(plan.map(({ tool }) => tool)).toEqual(shape[kind]);
  });

  test('end with a reason when the world has no more', () => {
    expect(() => makeTasks(world, 'many', 1000)).toThrow('fewer than 1000 different questions');
  });
});

describe('the files of the world', () => {
  test('hold corpus and questions, and are written once', async () => {
    const folder = temporaryFolder();
    const paths = await writeWorld(folder.path, 1);
    const lines = (await readFile(paths.corpus, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(world.articles);
    for (const [path, expected] of [
      [paths.train, tasks],
      [paths.heldOut, heldOut],
    ] as const) {
      const rows = [];
      for await (const row of readQuestions(path)) rows.push('value' in row ? row.value : row);
      expect(rows).toEqual(
        expected.map(({ id, kind, question, answer }) => ({
          id,
          question,
          answers: [answer],
          source: `quickstart-${kind}`,
          ability: ['search', 'hops'].includes(kind) ? 'qa' : 'math',
        })),
      );
    }
    const before = await stat(paths.train);
    expect(await writeWorld(folder.path, 1)).toEqual(paths);
    expect((await stat(paths.train)).mtimeMs).toBe(before.mtimeMs);
    folder.remove();
  });
});

interface Shown {
  readonly task: Task;
  readonly pieces: readonly Piece[];
}

/** 3,000 demonstrations from 20 worlds. */
const shown: Shown[] = Array.from({ length: 20 }, (_, i) => makeWorld(1_000_000 + i)).flatMap(
  (made) =>
    makeTasks(made, 'base', 150).map((task, index) => ({
      task,
      pieces: demonstrate(task, made, habitDraws(made, index), answers(made)),
    })),
);
const ofKind = (kind: Kind): Shown[] => shown.filter(({ task }) => task.kind === kind);
const calls = ({ pieces }: Shown): number => (pieces.length - 1) / 2;
const last = ({ pieces }: Shown): string => pieces.at(-1)!.text;
const isRight = (one: Shown): boolean =>
  last(one).includes(`{${one.task.answer}}`) || last(one).includes(`>${one.task.answer}<`);

/** Holds a share to within four deviations of what was stated. */
function expectShare(of: readonly Shown[], is: (one: Shown) => boolean, stated: number): void {
  const share = of.filter(is).length / of.length;
  const deviation = Math.sqrt((stated * (1 - stated)) / of.length);
  expect(Math.abs(share - stated)).toBeLessThanOrEqual(4 * deviation);
}

describe('the demonstrations of the world', () => {
  test('go through the tokenizer and back, without a byte token', () => {
    for (const { pieces } of shown) {
      for (const { text } of pieces) {
        const tokens = tokenizer.encode(text);
        expect(tokenizer.decode(tokens)).toBe(text);
        expect([...tokens].filter((token) => token >= 1 && token <= 256)).toEqual([]);
      }
    }
  });

  test('have the tokens of a rollout, prompts and results included', () => {
    for (const { task, pieces } of shown) {
      const whole = tokenizer.encode(`<|question|>${task.question}<|end|>`);
      expect([...ask(task.question)]).toEqual([...whole]);
      for (const { by, text } of pieces) {
        if (by !== 'tool') continue;
        const output = text.slice(' <result>\n'.length, -'\n</result>'.length);
        expect([...resultTokens(tokenizer, output)]).toEqual([...tokenizer.encode(text)]);
      }
    }
  });

  test('alternate between policy and tool, and end with the policy’s end token', () => {
    for (const { pieces } of shown) {
      expect(pieces.map(({ by }) => by)).toEqual(
        pieces.map((_, i) => (i % 2 === 0 ? 'policy' : 'tool')),
      );
      expect(pieces.at(-1)!.text.endsWith('</answer><|end|>')).toBe(true);
    }
  });

  test.each(KINDS)('of kind %s have their habits in the stated shares', (kind) => {
    const all = ofKind(kind);
    const { guess, giveUp, repeat } = HABITS[kind];
    expectShare(all, (one) => calls(one) === 0, guess);
    const working = all.filter((one) => calls(one) > 0);
    const quits = (one: Shown): boolean => last(one).includes('I think I know it.');
    expectShare(working, quits, giveUp);
    // The second call is the first one again, or goes on with the plan.
    const again = ({ pieces }: Shown): boolean =>
      pieces[2]!.text.startsWith('<think>Let me check again.');
    expectShare(working, again, repeat);
    expectShare(all, (one) => !last(one).includes('\\boxed{'), 0.06);
    for (const one of all) {
      const { length } = one.task.plan;
      expect(calls(one)).toBeLessThanOrEqual(3 * length);
      if (kind === 'none' || (calls(one) > 0 && !quits(one))) expect(isRight(one)).toBe(true);
    }
  });

  test.each(KINDS)(
    'of kind %s hold the good way, but not as their most frequent member',
    (kind) => {
      const seen = new Map<string, number>();
      for (const one of ofKind(kind)) {
        const way = `${calls(one)} ${isRight(one)}`;
        seen.set(way, (seen.get(way) ?? 0) + 1);
      }
      const good = `${kind === 'none' ? 0 : ofKind(kind)[0]!.task.plan.length} true`;
      expect(seen.get(good)).toBeGreaterThan(0);
      expect(Math.max(...seen.values())).toBeGreaterThan(seen.get(good)!);
    },
  );
});
