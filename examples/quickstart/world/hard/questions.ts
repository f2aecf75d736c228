/**
 * Questions about a hard world, each with its answer and the shortest way to it.
 *
 * Seven kinds: `none` needs no tool, `sum` arithmetic in two steps, `look`, `two` and `three` as many
 * searches that depend on each other, `gap` two facts and their difference, `chain` a fact about something
 * that must be found first, and a difference. The way holds the queries that find the right page.
 */
import type { Draws } from 'millrace';
import {
  calculation,
  type Draft,
  differentTasks,
  lookUp,
  none,
  pick,
  type Step,
  type Task,
} from '../tasks.ts';
import type { Firm, HardWorld, Person, Town } from './facts.ts';

export const KINDS = ['none', 'sum', 'look', 'two', 'three', 'gap', 'chain'] as const;
export type HardKind = (typeof KINDS)[number];
export type HardTask = Task<HardKind>;

/** The world's look-ups: what is asked about, by which word, and what is found. */
const born = (of: Person): Step => lookUp(`${of.name} born`, String(of.born));
const birthplace = (of: Person): Step => lookUp(`${of.name} born`, of.birthplace.name);
const home = (of: Person): Step => lookUp(`${of.name} lives`, of.home.name);
const works = (of: Person): Step => lookUp(`${of.name} works`, of.firm.name);
const since = (of: Person): Step => lookUp(`${of.name} works`, String(of.since));
const river = (of: Town): Step => lookUp(`${of.name} river`, of.river);
const founded = (of: Town | Firm): Step => lookUp(`${of.name} founded`, String(of.founded));
const seat = (of: Firm): Step => lookUp(`${of.name} seat`, of.town.name);
const headIs = (of: Firm, head: Person): Step => lookUp(`${of.name} head`, head.name);

const difference = (from: number, minus: number): Step =>
  calculation(`${from}-${minus}`, from - minus);

/** A task whose answer the last step of its plan gives. */
function task(question: string, ...plan: readonly Step[]): Draft {
  const last = plan.at(-1)!;
  return { question, answer: last.tool === 'search' ? last.finds : last.value, plan };
}

/** Two operations on three numbers. */
function sum(stream: Draws): Draft {
  const a = 100 + stream.integer(0, 900);
  const b = 12 + stream.integer(1, 88);
  const c = 12 + stream.integer(2, 88);
  const [text, value] = pick(
    [
      [`${a} * ${b} + ${c}`, a * b + c],
      [`${a} * ${b} - ${c}`, a * b - c],
      [`(${a} + ${b}) * ${c}`, (a + b) * c],
      [`(${a} - ${b}) * ${c}`, (a - b) * c],
    ] as const,
    stream,
    3,
  );
  return task(`What is ${text}?`, calculation(text.replaceAll(' ', ''), value));
}

/** The people and things that a question is about. */
interface Cast {
  readonly person: Person;
  readonly other: Person;
  readonly town: Town;
  readonly firm: Firm;
  readonly second: Firm;
  /** The head of `firm`, and that of the firm that `person` works for. */
  readonly head: Person;
  readonly boss: Person;
  /** A year after everything that happens. */
  readonly year: number;
}

function look({ person, town, firm, head }: Cast): readonly Draft[] {
  return [
    task(`Where was ${person.name} born?`, birthplace(person)),
    task(`In which year was ${person.name} born?`, born(person)),
    task(`Where does ${person.name} live?`, home(person)),
    task(`Which firm does ${person.name} work for?`, works(person)),
    task(`Since which year does ${person.name} work?`, since(person)),
    task(`On which river does ${town.name} lie?`, river(town)),
    task(`In which year was the town of ${town.name} founded?`, founded(town)),
    task(`In which town is ${firm.name}?`, seat(firm)),
    task(`In which year was ${firm.name} founded?`, founded(firm)),
    task(`Who is the head of ${firm.name}?`, headIs(firm, head)),
  ];
}

function two({ person, firm, head, boss }: Cast): readonly Draft[] {
  const { name } = person;
  const first = headIs(firm, head);
  return [
    task(`Where was the head of ${firm.name} born?`, first, birthplace(head)),
    task(`In which year was the head of ${firm.name} born?`, first, born(head)),
    task(`Which firm does the head of ${firm.name} work for?`, first, works(head)),
    task(`On which river does the town lie where ${name} lives?`, home(person), river(person.home)),
    task(
      `On which river does the town lie where ${name} was born?`,
      birthplace(person),
      river(person.birthplace),
    ),
    task(
      `In which year was the town founded where ${name} was born?`,
      birthplace(person),
      founded(person.birthplace),
    ),
    task(
      `In which year was the firm founded that ${name} works for?`,
      works(person),
      founded(person.firm),
    ),
    task(
      `Who is the head of the firm that ${name} works for?`,
      works(person),
      headIs(person.firm, boss),
    ),
  ];
}

function three({ person, firm, head, boss }: Cast): readonly Draft[] {
  const { name } = person;
  const first = headIs(firm, head);
  return [
    task(
      `On which river does the town lie where the head of ${firm.name} was born?`,
      first,
      birthplace(head),
      river(head.birthplace),
    ),
    task(
      `In which year was the town founded where the head of ${firm.name} lives?`,
      first,
      home(head),
      founded(head.home),
    ),
    task(
      `On which river does the town of the firm lie that ${name} works for?`,
      works(person),
      seat(person.firm),
      river(person.firm.town),
    ),
    task(
      `Where was the head of the firm born that ${name} works for?`,
      works(person),
      headIs(person.firm, boss),
      birthplace(boss),
    ),
    task(
      `Where does the head of the firm live that ${name} works for?`,
      works(person),
      headIs(person.firm, boss),
      home(boss),
    ),
  ];
}

function gap({ person, other, firm, second }: Cast): readonly Draft[] {
  const [elder, younger] = person.born < other.born ? [person, other] : [other, person];
  const [older, newer] = firm.founded < second.founded ? [firm, second] : [second, firm];
  return [
    task(
      `How many years after ${elder.name} was ${younger.name} born?`,
      born(elder),
      born(younger),
      difference(younger.born, elder.born),
    ),
    task(
      `How many years after ${older.name} was ${newer.name} founded?`,
      founded(older),
      founded(newer),
      difference(newer.founded, older.founded),
    ),
    task(
      `How many years after ${firm.name} was founded was ${person.name} born?`,
      founded(firm),
      born(person),
      difference(person.born, firm.founded),
    ),
  ];
}

function chain({ person, firm, head, year }: Cast): readonly Draft[] {
  const { name } = person;
  return [
    task(
      `How old was the head of ${firm.name} in the year ${year}?`,
      headIs(firm, head),
      born(head),
      difference(year, head.born),
    ),
    task(
      `How old was the firm that ${name} works for in the year ${year}?`,
      works(person),
      founded(person.firm),
      difference(year, person.firm.founded),
    ),
    task(
      `How old was the town where ${name} lives in the year ${year}?`,
      home(person),
      founded(person.home),
      difference(year, person.home.founded),
    ),
  ];
}

const about = { look, two, three, gap, chain };

function cast(world: HardWorld, stream: Draws): Cast {
  const { people, firms, towns, heads } = world;
  const person = pick(people, stream, 0);
  const firm = pick(firms, stream, 1);
  return {
    person,
    firm,
    other: pick(people, stream, 2),
    second: pick(firms, stream, 3),
    town: pick(towns, stream, 4),
    year: 1990 + stream.integer(5, 35),
    head: heads.get(firm.name)!,
    boss: heads.get(person.firm.name)!,
  };
}

/**
 * Whether a question can be asked: it does not contain its answer, and no two steps of its way are the same.
 */
function isAskable({ question, answer, plan }: Draft): boolean {
  const steps = new Set(plan.map((step) => (step.tool === 'search' ? step.query : step.code)));
  return !question.includes(answer) && steps.size === plan.length;
}

/** `count` different questions, the kinds in turn; none of those in `exclude`. */
export function makeHardTasks(
  world: HardWorld,
  name: string,
  count: number,
  exclude: ReadonlySet<string> = new Set(),
): HardTask[] {
  return differentTasks({
    kinds: KINDS,
    key: ['quickstart-hard-tasks', world.seed, name],
    count,
    exclude,
    draft(kind, stream) {
      if (kind === 'none') return none(stream);
      if (kind === 'sum') return sum(stream);
      const drawn = pick(about[kind](cast(world, stream.under('cast'))), stream, 0);
      return isAskable(drawn) ? drawn : null;
    },
  });
}
