/** The quickstart's critic: what it says fits the prompts, the vocabulary, and what was given. */
import { describe, expect, test } from '@jest/globals';
import { hints, worldCritic } from '../../examples/quickstart/critic.ts';
import {
  answers,
  demonstrate,
  habitDraws,
} from '../../examples/quickstart/world/demonstrations.ts';
import {
  demonstrateHard,
  hardHabitDraws,
} from '../../examples/quickstart/world/hard/demonstrations.ts';
import { makeHardWorld } from '../../examples/quickstart/world/hard/facts.ts';
import { FAILURES } from '../../examples/quickstart/world/hard/noise.ts';
import { makeHardTasks } from '../../examples/quickstart/world/hard/questions.ts';
import {
  FIRM_KINDS,
  FIRM_NAMES,
  FIRST_NAMES,
  LAST_NAMES,
  RIVERS,
  TOWNS,
} from '../../examples/quickstart/world/names.ts';
import { makeTasks, type Task } from '../../examples/quickstart/world/tasks.ts';
import { vocabulary } from '../../examples/quickstart/world/vocabulary.ts';
import { makeWorld } from '../../examples/quickstart/world/world.ts';
import { scripted } from '../../model/text/scripted.ts';
import { wordTokenizer } from '../../model/wordTokenizer.ts';
import { filterPool } from '../../operators/demonstrations.ts';
import { resultBlock } from '../../operators/dialect/resultBlock.ts';
import { closedSteps, numberedSteps, splitSteps } from '../../operators/dialect/steps.ts';
import type { Complete } from '../../operators/evolve/models.ts';
import { loadPrompts } from '../../operators/evolve/prompts.ts';
import { readFaultyStep, readRedundancy } from '../../operators/evolve/replies.ts';
import { evolve } from '../../operators/evolve.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { topics } from '../../topics/index.ts';
import { question } from '../support/records.ts';

const world = makeWorld(3);
const tasks = makeTasks(world, 'train', 300);
const critic = worldCritic(tasks);
const prompts = loadPrompts();
const say = (name: string, prompt: string, continuation = '') =>
  critic({ draws: ['run', name, 0], prompt, continuation })!;

/** A trajectory with whatever habits the draws give, right and wrong ones. */
function trajectory(task: Task, index: number): string {
  const pieces = demonstrate(task, world, habitDraws(world, index), answers(world));
  return pieces
    .map(({ text }) => text)
    .join('')
    .replace('<|end|>', '');
}
const solved = tasks.map((task, i) => ({ task, text: trajectory(task, i) }));

/** Names and numbers of a text: what could be a fact. */
const NAMES = new Set([
  ...[...FIRST_NAMES, ...LAST_NAMES, ...TOWNS, ...RIVERS],
  ...[...FIRM_NAMES, ...FIRM_KINDS],
]);
function facts(text: string): string[] {
  const words = [...text.matchAll(/\d+|\p{L}+/gu)].map(([word]) => word);
  return words.filter((word) => /\d/.test(word) || NAMES.has(word));
}
const told = (...texts: readonly string[]) => new Set(texts.flatMap(facts));

/** Facts of `said` that neither the question nor a result has given. Single-digit sums are known. */
function untold(said: string, task: Task<string>, results: string): string[] {
  const known = told(task.question, results, task.kind === 'none' ? task.answer : '');
  return facts(said).filter((fact) => !known.has(fact));
}
const resultsOf = (steps: readonly string[]) =>
  steps.flatMap((step) => /<result>.*<\/result>/s.exec(step) ?? []).join(' ');

describe('the critic', () => {
  test('is tried on right and wrong trajectories that state facts', () => {
    const wrong = solved.filter(({ task, text }) => !text.includes(`${task.answer}}`));
    expect(wrong.length).toBeGreaterThan(50);
    expect(wrong.length).toBeLessThan(200);
    expect(facts(`<think>So it is ${TOWNS[0]}.</think><answer>\\boxed{1974}</answer>`)).toEqual([
      TOWNS[0],
      '1974',
    ]);
    const { task } = solved.find(({ task: { kind } }) => kind === 'search')!;
    expect(untold(`<answer>${task.answer}</answer>`, task, '')).not.toEqual([]);
  });

  test('writes no new step with a fact that only a tool could give', () => {
    for (const { task, text } of solved) {
      const steps = splitSteps(text);
      for (let n = 1; n <= steps.length; n++) {
        const values = {
          question: task.question,
          steps: numberedSteps(steps.slice(0, n).join('')),
        };
        const step = say(
          '1/new-step',
          prompts['new-step']({ ...values, analysis: 'I erred.', tools: '' }),
        );
        expect([step, untold(step, task, resultsOf(steps.slice(0, n - 1)))]).toEqual([step, []]);
        expect(step).toMatch(/^<think>.*<\/think><(search|python|answer)>.*<\/\1>$/);
      }
    }
  });

  test('shortens no step with such a fact, and finds none to shorten on the shortest way', () => {
    let shortened = 0;
    for (const { task, text } of solved) {
      const steps = splitSteps(text);
      const values = { question: task.question, steps: numberedSteps(text) };
      const found = readRedundancy(say('1/redundancy', prompts.redundancy(values)));
      if (found === null) {
        const needed = task.kind === 'none' ? 0 : task.plan.length;
        expect(closedSteps(text)).toHaveLength(needed);
        continue;
      }
      shortened++;
      const before = steps.slice(0, found.step - 1);
      expect(untold(found.corrected, task, resultsOf(before))).toEqual([]);
    }
    expect(shortened).toBeGreaterThan(100);
  });

  test('thinks again around the actions as they are', () => {
    for (const { task, text } of solved) {
      const prompt = prompts.refine({ question: task.question, trajectory: text });
      const actions = [...text.matchAll(/<(search|python|answer)>.*?<\/\1>/g)].map(
        ([action]) => action,
      );
      let written = '';
      for (const action of actions) {
        const thinking = say('1/refine', prompt, written);
        expect(thinking).toMatch(/^<think>[^<]*<\/think>$/);
        expect(facts(thinking).filter((fact) => !told(task.question, action).has(fact))).toEqual(
          [],
        );
        written += thinking + action;
      }
    }
  });

  test('finds the first flawed step of a wrong trajectory', () => {
    const { task } = solved.find(({ task: { kind } }) => kind === 'hops')!;
    const [first, second] = task.plan as Extract<Task['plan'][number], { tool: 'search' }>[];
    const look = (query: string, result: string) =>
      `<think>a</think><search>${query}</search>${resultBlock(`Page 1: ${result}`)}`;
    const guess = '<think>b</think><answer>\\boxed{Nowhere}</answer>';
    const flawed = (...steps: readonly string[]) =>
      readFaultyStep(
        say(
          '1/locate',
          prompts.locate({ question: task.question, steps: numberedSteps(steps.join('')) }),
        ),
      );
    const found = [
      look(first!.query, `${first!.finds}.`),
      look(second!.query, `${second!.finds}.`),
    ];
    expect(flawed(guess)).toBe(1);
    expect(flawed(found[0]!, guess)).toBe(2);
    expect(flawed(found[0]!, found[0]!, found[1]!, guess)).toBe(2);
    expect(flawed(look('Nobody', 'nothing'), guess)).toBe(1);
    expect(flawed(...found, guess)).toBe(3);
  });

  test('judges by the reference answers', () => {
    const values = { question: tasks[0]!.question, answers: '7\nseven' };
    expect(say('judge/0', prompts.judge({ ...values, prediction: 'seven' }))).toBe('Correct');
    expect(say('judge/0', prompts.judge({ ...values, prediction: '8' }))).toBe('Incorrect');
    expect(say('judge/0', prompts.judge({ ...values, prediction: '' }))).toBe('Incorrect');
  });

  test('gives up on a question of another world', () => {
    const prompt = prompts.locate({ question: 'Who wrote Faust?', steps: '#### Step 1: a' });
    expect(critic({ draws: ['1/locate', 0], prompt, continuation: '' })).toBeNull();
  });

  test('and the hints use words that all have a token', () => {
    const tokenizer = wordTokenizer(vocabulary());
    const spelled = (text: string) =>
      [...tokenizer.encode(text)].filter((id) => id >= 1 && id < 257);
    expect(spelled('Hark')).not.toEqual([]);
    for (const hint of [...hints.math, ...hints.qa]) expect(spelled(hint)).toEqual([]);
    for (const { task, text } of solved.slice(0, 100)) {
      const values = { question: task.question, steps: numberedSteps(text) };
      const said = say('1/new-step', prompts['new-step']({ ...values, analysis: 'x', tools: '' }));
      const thought = say(
        '1/refine',
        prompts.refine({ question: task.question, trajectory: text }),
      );
      expect([said, spelled(said + thought)]).toEqual([said, []]);
    }
  });

  test('makes demonstrations of a policy that answers as soon as it has looked something up', async () => {
    const result = answers(world);
    const byInput = new Map(
      tasks.flatMap(({ plan }) =>
        plan.map(
          (step) => [step.tool === 'search' ? step.query : step.code, result(step)] as const,
        ),
      ),
    );
    const hasty: Complete = async ({ prompt, continuation }) => {
      const task = tasks.find(({ question }) => question === prompt)!;
      const sure = continuation.split('</result>').length > task.plan.length;
      return `${continuation.endsWith('again.') ? '' : '<think>I think I know it.'}</think><answer>\\boxed{${sure ? task.answer : '0'}}</answer>`;
    };
    const model = scripted(critic);
    const judge: Complete = (request, signal) =>
      model.complete({ maxTokens: 1, temperature: 0, ...request }, signal);
    const operator = evolve({
      models: { policy: hasty, analyst: judge, critic: judge },
      tools: {
        tags: ['search', 'python'],
        call: async (_, input) => ({
          output: byInput.get(input) ?? 'nothing',
          ok: true,
          attempts: 1,
          cached: false,
          ms: 0,
        }),
      },
      rounds: 3,
      quotas: { python: 6, search: 6 },
      hints,
      resultBlock,
      seed: 1,
      concurrency: 4,
    });
    const short = tasks.filter(({ plan }) => plan.length === 1).slice(0, 30);
    const asked = short.map(({ id, kind, question: text, answer }) =>
      question({
        id,
        question: text,
        answers: [answer],
        phase: 'evolve',
        ability: kind === 'search' || kind === 'hops' ? 'qa' : 'math',
      }),
    );
    const { outputs } = await runOperator(operator, topics.questions, asked);
    for (const one of asked) {
      const pool = outputs.filter(({ question: { id } }) => id === one.id);
      const { kept } = filterPool(pool, { tools: { tags: ['search', 'python'] }, hints });
      const { kind } = tasks.find(({ id }) => id === one.id)!;
      expect(kept.map(({ toolCalls }) => toolCalls)).toEqual([kind === 'none' ? 0 : 1]);
    }
  });
});

describe('the critic of the hard world', () => {
  const hard = makeHardWorld(3);
  const hardTasks = makeHardTasks(hard, 'train', 210);
  const hardCritic = worldCritic(hardTasks);
  const ask = (name: string, prompt: string) =>
    hardCritic({ draws: ['run', name, 0], prompt, continuation: '' })!;
  const hardSolved = hardTasks.map((task, i) => ({
    task,
    text: demonstrateHard(task, hard, hardHabitDraws(hard, i))
      .map(({ text }) => text)
      .join('')
      .replace('<|end|>', ''),
  }));

  test('writes no new step with a fact that only a tool could give', () => {
    for (const { task, text } of hardSolved) {
      const steps = splitSteps(text);
      for (let n = 1; n <= steps.length; n++) {
        const until = numberedSteps(steps.slice(0, n).join(''));
        const values = { question: task.question, steps: until, analysis: 'I erred.', tools: '' };
        const step = ask('1/new-step', prompts['new-step'](values));
        expect([step, untold(step, task, resultsOf(steps.slice(0, n - 1)))]).toEqual([step, []]);
      }
    }
  });

  test('blames a search that leads nowhere, but not a tool that failed, nor the same call after it', () => {
    const { task } = hardSolved.find(({ task: { kind } }) => kind === 'two')!;
    const [first, second] = task.plan as Extract<Task['plan'][number], { tool: 'search' }>[];
    const look = (query: string, result: string) =>
      `<think>a</think><search>${query}</search>${resultBlock(result)}`;
    const [one, two] = [first!, second!].map(({ query, finds }) =>
      look(query, `Page 1: ${finds}.`),
    );
    const nothing = look(first!.query, FAILURES.search!.output);
    const answer = `<think>b</think><answer>\\boxed{${task.answer}}</answer>`;
    const redundant = (...steps: readonly string[]) =>
      readRedundancy(
        ask(
          '1/redundancy',
          prompts.redundancy({ question: task.question, steps: numberedSteps(steps.join('')) }),
        ),
      )?.step ?? null;
    expect(redundant(one!, two!, answer)).toBeNull();
    expect(redundant(nothing, one!, two!, answer)).toBeNull();
    expect(redundant(one!, one!, two!, answer)).toBe(2);
    expect(redundant(look('Nobody', 'Page 1: nothing.'), one!, two!, answer)).toBe(1);
  });
});
