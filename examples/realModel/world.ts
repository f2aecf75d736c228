/**
 * An invented country of towns, and questions about it: sums for Python, facts for a search, and ages of
 * towns, which take both. Everything follows from the seed by keyed draws.
 */
import { type Draws, draws } from 'millrace';

/** What a question takes. */
export const KINDS = ['python', 'search', 'both'] as const;
export type Kind = (typeof KINDS)[number];

export interface Town {
  readonly name: string;
  readonly river: string;
  readonly founded: number;
  readonly mayor: string;
}

/** A call on the shortest way to an answer, and what is thought before it. */
export interface Step {
  readonly thought: string;
  readonly tool: 'python' | 'search';
  readonly input: string;
}

export interface Task {
  readonly id: string;
  readonly kind: Kind;
  readonly question: string;
  readonly answer: string;
  readonly steps: readonly Step[];
}

const FIRST = ['Vel', 'Tar', 'Mon', 'Bel', 'Har', 'Cor', 'Dor', 'Fen', 'Gal', 'Lin', 'Mar', 'Nor'];
const MIDDLE = ['a', 'e', 'i', 'o', 'an', 'er', 'in', 'or'];
const LAST = ['ford', 'mora', 'ton', 'wick', 'burg', 'dale', 'mouth', 'stead'];
const RIVERS = [
  'Tarn',
  'Ister',
  'Ouse',
  'Lenne',
  'Morava',
  'Sava',
  'Drin',
  'Neva',
  'Volme',
  'Aller',
];
const GIVEN = [
  'Anna',
  'Boris',
  'Clara',
  'David',
  'Elena',
  'Frank',
  'Greta',
  'Henry',
  'Ida',
  'Jonas',
];
const FAMILY = ['Adler', 'Brandt', 'Castle', 'Dunn', 'Ebert', 'Fisher', 'Gray', 'Hobbs', 'Keller'];

const pick = <T>(stream: Draws, index: number, from: readonly T[]): T =>
  from[stream.integer(index, from.length)]!;

/** Towns with different names. */
export function makeTowns(seed: number, count: number): readonly Town[] {
  const towns = new Map<string, Town>();
  for (let tried = 0; towns.size < count; tried++) {
    const stream = draws('towns', seed, tried);
    const name = pick(stream, 0, FIRST) + pick(stream, 1, MIDDLE) + pick(stream, 2, LAST);
    if (towns.has(name)) continue;
    towns.set(name, {
      name,
      river: pick(stream, 3, RIVERS),
      founded: 1100 + stream.integer(4, 700),
      mayor: `${pick(stream, 5, GIVEN)} ${pick(stream, 6, FAMILY)}`,
    });
  }
  return [...towns.values()];
}

/** What the corpus says about a town. */
export function pageOf({ name, river, founded, mayor }: Town): string {
  return `${name} is a town on the river ${river}. It was founded in ${founded}. The mayor of ${name} is ${mayor}.`;
}

/** Questions of all kinds in turn about these towns; `purpose` tells their draws apart. */
export function makeTasks(
  seed: number,
  purpose: string,
  count: number,
  towns: readonly Town[],
): readonly Task[] {
  const seen = new Set<string>();
  const tasks: Task[] = [];
  for (let tried = 0; tasks.length < count; tried++) {
    const kind = KINDS[tasks.length % KINDS.length]!;
    const drawn = makers[kind](draws('tasks', seed, purpose, tried), towns);
    if (seen.has(drawn.question)) {
      if (tried < 100 * count) continue;
      throw new Error(`there are no ${count} different questions about ${towns.length} towns`);
    }
    seen.add(drawn.question);
    tasks.push({ id: `${purpose}-${tasks.length}`, kind, ...drawn });
  }
  return tasks;
}

type Drawn = Omit<Task, 'id' | 'kind'>;

const makers: Readonly<Record<Kind, (stream: Draws, towns: readonly Town[]) => Drawn>> = {
  python(stream) {
    const a = 23 + stream.integer(0, 75);
    const b = 13 + stream.integer(1, 86);
    const c = 11 + stream.integer(2, 89);
    const [question, code, value] = pick(stream, 3, [
      [
        `A mill grinds ${a} sacks a day. How many sacks does it grind in ${b} days?`,
        `${a} * ${b}`,
        a * b,
      ],
      [
        `${a} boxes hold ${b} nails each, and ${c} nails are loose. How many nails are there?`,
        `${a} * ${b} + ${c}`,
        a * b + c,
      ],
      [
        `A farmer had ${a * 10 + c} eggs and sold ${b} of them. How many are left?`,
        `${a * 10 + c} - ${b}`,
        a * 10 + c - b,
      ],
    ] as const);
    return { question, answer: String(value), steps: [calculated(code)] };
  },
  search(stream, towns) {
    const town = pick(stream, 0, towns);
    const [question, what, answer] = pick(stream, 1, [
      [`Who is the mayor of ${town.name}?`, 'mayor', town.mayor],
      [`On which river is ${town.name}?`, 'river', town.river],
      [`In which year was ${town.name} founded?`, 'founded', String(town.founded)],
    ] as const);
    return { question, answer, steps: [lookedUp(town, what)] };
  },
  both(stream, towns) {
    const town = pick(stream, 0, towns);
    const year = 1850 + stream.integer(1, 150);
    const age = year - town.founded;
    return {
      question: `How old was the town of ${town.name} in the year ${year}?`,
      answer: String(age),
      steps: [lookedUp(town, 'founded'), calculated(`${year} - ${town.founded}`)],
    };
  },
};

function calculated(code: string): Step {
  return { thought: 'I compute it with Python.', tool: 'python', input: `print(${code})` };
}

function lookedUp({ name }: Town, what: string): Step {
  return { thought: `I look up ${name}.`, tool: 'search', input: `${name} ${what}` };
}
