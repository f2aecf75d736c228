/**
 * The quickstart's hard world: it follows from its seed, every question can be answered with the tools, and
 * they fail alike.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { writeWorld } from '../../examples/quickstart/world/files.ts';
import {
  BARE,
  CALLS_MAX,
  demonstrateHard,
  GUESS,
  hardHabitDraws,
} from '../../examples/quickstart/world/hard/demonstrations.ts';
import { makeHardWorld } from '../../examples/quickstart/world/hard/facts.ts';
import { FAILURES, isFailure, NOISE, noisy } from '../../examples/quickstart/world/hard/noise.ts';
import {
  type HardKind,
  type HardTask,
  KINDS,
  makeHardTasks,
} from '../../examples/quickstart/world/hard/questions.ts';
import type { Step } from '../../examples/quickstart/world/tasks.ts';
import { vocabulary } from '../../examples/quickstart/world/vocabulary.ts';
import { worlds } from '../../examples/quickstart/world/worlds.ts';
import { wordTokenizer } from '../../model/wordTokenizer.ts';
import { callTools } from '../../operators/callTools.ts';
import { searchTool } from '../../operators/tools/search/searchTool.ts';
import { pureTool } from '../../operators/tools/tool.ts';
import { readQuestions } from '../../sources/questions.ts';
import { temporaryFolder } from '../support/folder.ts';

const { train: TRAIN, heldOut: HELD_OUT } = worlds.hard;
const world = makeHardWorld(1);
const tasks = makeHardTasks(world, 'train', TRAIN);
const asked = new Set(tasks.map(({ question }) => question));
const heldOut = makeHardTasks(world, 'heldout', HELD_OUT, asked);
const all = [...tasks, ...heldOut];
const search = searchTool({ documents: world.articles, top: 1 });
const signal = new AbortController().signal;
const find = async (query: string) => (await search.run(query, signal)).output;

/** Whether `text` holds `part` as whole words. */
const holds = (text: string, part: string): boolean =>
  ` ${text.replace(/[^\p{L}\d]+/gu, ' ')} `.includes(` ${part} `);

/** Sums, products and brackets, first things first. */
function calculate(code: string): string {
  const [, text = ''] = /^print\((.*)\)$/.exec(code) ?? [];
  const inner = /\((\d+)([-+])(\d+)\)/.exec(text);
  const flat = inner === null ? text : text.replace(inner[0], plus(inner[0].slice(1, -1)));
  return plus(flat.replace(/(\d+)\*(\d+)/, (_, a, b) => String(a * b)));
}
function plus(text: string): string {
  const [, a, sign, b] = /^(\d+)([-+])(\d+)$/.exec(text) ?? [text, text, '+', '0'];
  return String(sign === '-' ? Number(a) - Number(b) : Number(a) + Number(b));
}
const box = (seed: number) =>
  noisy(
    callTools([search, pureTool('python', 'calculates', calculate)], { clock: { now: () => 0 } }),
    seed,
  );

describe('the hard world', () => {
  test('follows from its seed', () => {
    expect(makeHardWorld(1)).toEqual(world);
    expect(makeHardTasks(world, 'train', TRAIN)).toEqual(tasks);
    const other = new Map(makeHardWorld(2).towns.map(({ name, river }) => [name, river]));
    const same = world.towns.filter(({ name, river }) => other.get(name) === river);
    expect(same.length).toBeLessThan(10);
  });

  test('has each fact on one of two pages, and a query with its word finds that one', async () => {
    expect(world.pages.size).toBeGreaterThan(1000);
    for (const [query, text] of world.pages) expect(await find(query)).toBe(`Page 1: ${text}`);
    expect(new Set(world.articles.map(({ id }) => id)).size).toBe(560);
  });

  test('has dead ends: half of the searches for a bare name find a page without the fact', async () => {
    const looks = tasks.flatMap(({ plan }) => plan.filter((step) => step.tool === 'search'));
    const dead = [];
    for (const { query, finds } of looks) {
      if (!holds(await find(query.replace(/ \S+$/, '')), finds)) dead.push(query);
    }
    const share = dead.length / looks.length;
    expect(share).toBeGreaterThan(0.35);
    expect(share).toBeLessThan(0.65);
  });

  test('has similar names, and pages with another fact next to the wanted one', () => {
    const shares = (names: readonly string[]) => {
      const times = new Map<string, number>();
      for (const name of names) times.set(name, (times.get(name) ?? 0) + 1);
      return names.filter((name) => times.get(name)! > 1).length / names.length;
    };
    const people = world.people.map(({ name }) => name.split(' '));
    expect(shares(people.map(([first]) => first!))).toBeGreaterThan(0.9);
    expect(shares(people.map(([, last]) => last!))).toBeGreaterThan(0.9);
    expect(shares(world.firms.map(({ name }) => name.split(' ')[0]!))).toBe(1);
    expect(new Set(world.firms.map(({ name }) => name)).size).toBe(60);
    for (const { name, birthplace, home } of world.people) {
      expect(birthplace).not.toBe(home);
      const page = world.pages.get(`${name} born`)!;
      expect([holds(page, birthplace.name), holds(page, home.name)]).toEqual([true, true]);
    }
  });
});

describe('the questions of the hard world', () => {
  test('are all different, of seven kinds in turn, and do not give their answer away', () => {
    expect(new Set(all.map(({ question }) => question)).size).toBe(TRAIN + HELD_OUT);
    for (const set of [tasks, heldOut]) {
      expect(set.map(({ kind }) => kind)).toEqual(set.map((_, i) => KINDS[i % KINDS.length]));
    }
    for (const { kind, question, answer } of all) {
      if (kind !== 'none') expect([question, holds(question, answer)]).toEqual([question, false]);
    }
  });

  test('need the tools of their kind', () => {
    const shape: Record<HardKind, string[]> = {
      none: ['python'],
      sum: ['python'],
      look: ['search'],
      two: ['search', 'search'],
      three: ['search', 'search', 'search'],
      gap: ['search', 'search', 'python'],
      chain: ['search', 'search', 'python'],
    };
    for (const { kind, plan } of all) expect(plan.map(({ tool }) => tool)).toEqual(shape[kind]);
  });

  test('can all be answered with the tools as they are, failures included', async () => {
    const tools = box(1);
    let failures = 0;
    for (const { id, question, plan, answer } of all) {
      let known = question;
      let last = '';
      let turn = 0;
      for (const step of plan) {
        const input = step.tool === 'search' ? step.query : step.code;
        // A look-up is of something named before; a calculation takes numbers that were read.
        const needed = step.tool === 'search' ? [input.replace(/ \S+$/, '')] : input.match(/\d+/g)!;
        for (const part of needed) expect([question, holds(known, part)]).toEqual([question, true]);
        do {
          last = (await tools.call(step.tool, input, signal, { rolloutId: id, turn })).output;
          if (isFailure(last)) failures++;
          turn++;
        } while (isFailure(last) && turn < 20);
        known = `${known} ${last}`;
      }
      const end: Step = plan.at(-1)!;
      expect(end.tool === 'search' ? holds(last, answer) : last === answer).toBe(true);
    }
    expect(failures).toBeGreaterThan(0);
  });
});

describe('the noise of the hard world', () => {
  const origins = Array.from({ length: 2000 }, (_, i) => ({
    rolloutId: `q-${i % 500}`,
    turn: Math.floor(i / 500),
  }));
  const failing = async (seed: number): Promise<number[]> => {
    const tools = box(seed);
    const failed: number[] = [];
    for (const [i, origin] of origins.entries()) {
      const { output } = await tools.call('search', world.people[0]!.name, signal, origin);
      if (isFailure(output)) failed.push(i);
    }
    return failed;
  };

  test('is drawn by the origin of a call: the same in every run, in the stated share', async () => {
    const failed = await failing(1);
    expect(await failing(1)).toEqual(failed);
    expect(await failing(2)).not.toEqual(failed);
    const deviation = Math.sqrt((NOISE * (1 - NOISE)) / origins.length);
    expect(Math.abs(failed.length / origins.length - NOISE)).toBeLessThan(4 * deviation);
  });

  test('lets the same call through at another turn, and a call without an origin always', async () => {
    const tools = box(1);
    const { rolloutId, turn } = origins[(await failing(1))[0]!]!;
    const call = (at: number) =>
      tools.call('python', 'print(2+3)', signal, { rolloutId, turn: at });
    const outputs = await Promise.all(Array.from({ length: 10 }, (_, i) => call(turn + i)));
    expect(outputs.some(({ output }) => output === '5')).toBe(true);
    for (let i = 0; i < 50; i++) {
      expect((await tools.call('python', 'print(2+3)', signal)).output).toBe('5');
    }
  });
});

describe('the files of the hard world', () => {
  test('hold its corpus and its questions', async () => {
    const folder = temporaryFolder();
    const paths = await writeWorld(folder.path, 1, worlds.hard);
    const lines = (await readFile(paths.corpus, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(world.articles);
    const rows = [];
    for await (const row of readQuestions(paths.heldOut))
      rows.push('value' in row ? row.value : row);
    expect(rows).toEqual(
      heldOut.map(({ id, kind, question, answer }) => ({
        id,
        question,
        answers: [answer],
        source: `quickstart-${kind}`,
        ability: ['look', 'two', 'three'].includes(kind) ? 'qa' : 'math',
      })),
    );
    folder.remove();
  });
});

describe('the demonstrations of the hard world', () => {
  const tokenizer = wordTokenizer(vocabulary(worlds.hard.words));
  const shown = [1_000_000, 1_000_001, 1_000_002].flatMap((seed) => {
    const made = makeHardWorld(seed);
    return makeHardTasks(made, 'base', 420).map((task, i) => ({
      task,
      made,
      pieces: demonstrateHard(task, made, hardHabitDraws(made, i)),
    }));
  });
  type Shown = (typeof shown)[number];
  const last = ({ pieces }: Shown): string => pieces.at(-1)!.text;
  const calls = ({ pieces }: Shown): number => (pieces.length - 1) / 2;
  const isRight = (one: Shown): boolean =>
    holds(last(one).replace(/^.*<answer>/, ''), one.task.answer);
  const isGuess = (one: Shown): boolean => last(one).includes('I think I know it.');
  const goodWay = ({ plan, kind }: HardTask): number => (kind === 'none' ? 0 : plan.length);

  test('keep the tokens of the small world, and have one for every word', () => {
    const words = vocabulary(worlds.hard.words);
    const small = vocabulary();
    expect(words.words.slice(0, small.words.length)).toEqual(small.words);
    for (const { task, pieces } of shown) {
      for (const text of [task.question, ...pieces.map((piece) => piece.text)]) {
        const tokens = tokenizer.encode(text);
        expect(tokenizer.decode(tokens)).toBe(text);
        expect([text, [...tokens].filter((token) => token >= 1 && token <= 256)]).toEqual([
          text,
          [],
        ]);
      }
    }
  });

  test('show what the tools answer', async () => {
    const made = shown[0]!.made;
    const real = searchTool({ documents: made.articles, top: 1 });
    for (const { pieces } of shown.filter((one) => one.made === made)) {
      for (const [i, { text, by }] of pieces.entries()) {
        expect(by).toBe(i % 2 === 0 ? 'policy' : 'tool');
        const query = /<search>(.*)<\/search>$/.exec(text)?.[1];
        const result = /<result>\n(.*)\n<\/result>/.exec(pieces[i + 1]?.text ?? '')?.[1];
        if (query === undefined || result === FAILURES.search!.output) continue;
        expect(result).toBe((await real.run(query, signal)).output);
      }
      expect(pieces.at(-1)!.text.endsWith('</answer><|end|>')).toBe(true);
    }
  });

  test.each(KINDS)('of kind %s hold the good way, and worse ones in the stated shares', (kind) => {
    const of = shown.filter(({ task }) => task.kind === kind);
    const share = (is: (one: Shown) => boolean) => of.filter(is).length / of.length;
    const near = (found: number, stated: number) =>
      expect(Math.abs(found - stated)).toBeLessThanOrEqual(
        4 * Math.sqrt((stated * (1 - stated)) / of.length),
      );
    near(
      share((one) => calls(one) === 0),
      GUESS[kind],
    );
    if (kind !== 'none' && kind !== 'sum') {
      const bare = ({ pieces, made }: Shown): boolean => {
        const query = /<search>(.*)<\/search>/.exec(pieces[0]!.text)?.[1];
        return [made.people, made.towns, made.firms].flat().some(({ name }) => name === query);
      };
      near(share(bare), (1 - GUESS[kind]) * BARE);
    }
    expect(of.some((one) => isRight(one) && calls(one) === goodWay(one.task))).toBe(true);
    expect(Math.max(...of.map(calls))).toBeLessThanOrEqual(CALLS_MAX);
    for (const one of of) {
      if (!isGuess(one)) expect([last(one), isRight(one)]).toEqual([last(one), true]);
    }
  });
});
