/**
 * Questions about a world, each with its gold answer and the shortest way to it.
 *
 * Five kinds: `none` needs no tool, `python` needs arithmetic, `search` one look-up, `hops` two look-ups,
 * `both` a look-up and arithmetic. The way (`plan`) is what demonstrations are made of; it never reaches
 * the policy, the questions file or a topic.
 */
import { type Draws, draws } from 'millrace';
import type { Firm, Person, Town, World } from './world.ts';

export const KINDS = ['none', 'python', 'search', 'hops', 'both'] as const;
export type Kind = (typeof KINDS)[number];

/** A step of the shortest way: a look-up with the text that answers it, or a calculation with its value. */
export type Step =
  | { readonly tool: 'search'; readonly query: string; readonly finds: string }
  | { readonly tool: 'python'; readonly code: string; readonly value: string };

/** A question; `kind` is one of the kinds of its world. */
export interface Task<K extends string = Kind> {
  readonly id: string;
  readonly kind: K;
  readonly question: string;
  readonly answer: string;
  readonly plan: readonly Step[];
}

/** The drawn part of a task. */
export type Draft = Omit<Task, 'id' | 'kind'>;

export function calculation(code: string, value: number): Step {
  return { tool: 'python', code: `print(${code})`, value: String(value) };
}

/** Single digits: the policy knows these by heart. */
export function none(stream: Draws): Draft {
  const a = 1 + stream.integer(0, 9);
  const b = 1 + stream.integer(1, 9);
  const [x, y] = a >= b ? [a, b] : [b, a];
  const minus = stream.integer(2, 2) === 1;
  const code = minus ? `${x}-${y}` : `${a}+${b}`;
  const value = minus ? x - y : a + b;
  return {
    question: minus ? `What is ${x} - ${y}?` : `What is ${a} + ${b}?`,
    answer: String(value),
    plan: [calculation(code, value)],
  };
}

function python(stream: Draws): Draft {
  const a = 100 + stream.integer(0, 900);
  const b = 12 + stream.integer(1, 88);
  const kind = stream.integer(2, 3);
  const symbol = ['*', '+', '-'][kind]!;
  const value = [a * b, a + b, a - b][kind]!;
  return {
    question: `What is ${a} ${symbol} ${b}?`,
    answer: String(value),
    plan: [calculation(`${a}${symbol}${b}`, value)],
  };
}

export function lookUp(query: string, finds: string): Step {
  return { tool: 'search', query, finds };
}

export function pick<T>(items: readonly T[], stream: Draws, index: number): T {
  return items[stream.integer(index, items.length)]!;
}

function search(world: World, stream: Draws): Draft {
  const person: Person = pick(world.people, stream, 0);
  const town: Town = pick(world.towns, stream, 1);
  const firm: Firm = pick(world.firms, stream, 2);
  const options: readonly [string, string, string][] = [
    [`Where was ${person.name} born?`, person.name, person.town.name],
    [`Which firm does ${person.name} work for?`, person.name, person.firm.name],
    [`In which year was ${person.name} born?`, person.name, String(person.born)],
    [`On which river does ${town.name} lie?`, town.name, town.river],
    [`In which town is ${firm.name}?`, firm.name, firm.town.name],
    [`In which year was ${firm.name} founded?`, firm.name, String(firm.founded)],
  ];
  const [question, query, answer] = pick(options, stream, 3);
  return { question, answer, plan: [lookUp(query, answer)] };
}

function hops(world: World, stream: Draws): Draft {
  const person = pick(world.people, stream, 0);
  const firm = pick(world.firms, stream, 1);
  const { town } = person;
  const options: readonly [string, Step, Step][] = [
    [
      `In which town is the firm that ${person.name} works for?`,
      lookUp(person.name, person.firm.name),
      lookUp(person.firm.name, person.firm.town.name),
    ],
    [
      `On which river does the town lie where ${person.name} was born?`,
      lookUp(person.name, town.name),
      lookUp(town.name, town.river),
    ],
    [
      `On which river does the town of ${firm.name} lie?`,
      lookUp(firm.name, firm.town.name),
      lookUp(firm.town.name, firm.town.river),
    ],
    [
      `In which year was the firm founded that ${person.name} works for?`,
      lookUp(person.name, person.firm.name),
      lookUp(person.firm.name, String(person.firm.founded)),
    ],
  ];
  const [question, first, second] = pick(options, stream, 2);
  return { question, answer: second.tool === 'search' ? second.finds : '', plan: [first, second] };
}

function both(world: World, stream: Draws): Draft {
  const person = pick(world.people, stream, 0);
  const firm = pick(world.firms, stream, 1);
  const later = 1990 + stream.integer(2, 35);
  const [question, name, year] = pick(
    [
      [`How old was ${person.name} in the year ${later}?`, person.name, person.born],
      [`How old was ${firm.name} in the year ${later}?`, firm.name, firm.founded],
    ] as const,
    stream,
    3,
  );
  const value = later - year;
  return {
    question,
    answer: String(value),
    plan: [lookUp(name, String(year)), calculation(`${later}-${year}`, value)],
  };
}

/**
 * `count` different questions, the kinds in turn. `exclude` holds question texts that must not come again
 * (that is how held-out questions are kept apart).
 */
export function makeTasks(
  world: World,
  name: string,
  count: number,
  exclude: ReadonlySet<string> = new Set(),
): Task[] {
  const draft = (kind: Kind, stream: Draws): Draft =>
    ({
      none: () => none(stream),
      python: () => python(stream),
      search: () => search(world, stream),
      hops: () => hops(world, stream),
      both: () => both(world, stream),
    })[kind]();
  const key = ['quickstart-tasks', world.seed, name] as const;
  return differentTasks({ kinds: KINDS, key, count, exclude, draft });
}

interface TasksOptions<K extends string> {
  readonly kinds: readonly K[];
  /** Key of the draws: their purpose, the world's seed, the name of the set. */
  readonly key: readonly [what: string, seed: number, name: string];
  readonly count: number;
  readonly exclude: ReadonlySet<string>;
  /** Null = these draws make no question. */
  readonly draft: (kind: K, stream: Draws) => Draft | null;
}

/** Tasks with different questions, the kinds in turn. */
export function differentTasks<K extends string>(options: TasksOptions<K>): Task<K>[] {
  const { kinds, key, count, exclude, draft } = options;
  const [, seed, name] = key;
  const seen = new Set(exclude);
  const tasks: Task<K>[] = [];
  const triesMax = count * 50;
  for (let i = 0; tasks.length < count && i < triesMax; i++) {
    const kind = kinds[tasks.length % kinds.length]!;
    const drawn = draft(kind, draws(...key, i));
    if (drawn === null || seen.has(drawn.question)) continue;
    seen.add(drawn.question);
    tasks.push({ ...drawn, id: `${name}-${tasks.length}`, kind });
  }
  if (tasks.length < count) {
    throw new Error(`world ${seed} has fewer than ${count} different questions of every kind`);
  }
  return tasks;
}
