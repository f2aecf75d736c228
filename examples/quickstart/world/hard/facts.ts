/**
 * The hard world: what there is to know, and which page says it.
 *
 * It differs from the small world in what a search returns. Everyone and everything has two pages with
 * different facts, and a search for the bare name finds one of them, drawn by the seed: half the time the
 * wrong one, a dead end. With a word for the fact (`Balmia Coswick born`) it finds the right one. Pages have
 * another fact next to the right one (born in one town, living in another), and names resemble each other:
 * people share first and last names, firms their first word. Everything follows from the seed.
 */
import { draws, shuffled } from 'millrace';
import { FIRM_KINDS, FIRM_NAMES, FIRST_NAMES, LAST_NAMES, RIVERS, TOWNS } from '../names.ts';
import type { Article } from '../world.ts';

export interface Town {
  readonly name: string;
  readonly founded: number;
  readonly river: string;
}
export interface Firm {
  readonly name: string;
  readonly founded: number;
  readonly town: Town;
}
export interface Person {
  readonly name: string;
  readonly born: number;
  readonly birthplace: Town;
  readonly home: Town;
  readonly firm: Firm;
  /** The year in which the person started to work there. */
  readonly since: number;
}

export interface HardWorld {
  readonly seed: number;
  readonly people: readonly Person[];
  readonly towns: readonly Town[];
  readonly firms: readonly Firm[];
  /** Each firm's, by its name. */
  readonly heads: ReadonlyMap<string, Person>;
  readonly articles: readonly Article[];
  /** What a search finds: the page's text by query, which is a name alone or with one of its words. */
  readonly pages: ReadonlyMap<string, string>;
}

const PEOPLE = 160;
/**
 * So few names that most people share half of theirs, and every firm has another with the same first word.
 */
const FIRSTS = 24;
const LASTS = 30;
const FIRM_WORDS = 30;

/** A page about something, and the words that find it. */
interface Page {
  readonly words: readonly string[];
  readonly text: string;
}

function personPages(person: Person, variant: number): readonly [Page, Page] {
  const { name, born, birthplace, home, firm, since } = person;
  const life =
    variant === 0
      ? `${name} was born in ${birthplace.name} in the year ${born} and lives in ${home.name}.`
      : `Born in the year ${born}, ${name} comes from ${birthplace.name} and lives in ${home.name}.`;
  const work = `${name} works for ${firm.name} since the year ${since}.`;
  return [
    { words: ['born', 'lives'], text: life },
    { words: ['works'], text: work },
  ];
}

function townPages({ name, river, founded }: Town): readonly [Page, Page] {
  return [
    { words: ['river'], text: `${name} lies on the river ${river}.` },
    { words: ['founded'], text: `${name} was founded in the year ${founded}.` },
  ];
}

function firmPages({ name, founded, town }: Firm, head: Person): readonly [Page, Page] {
  return [
    {
      words: ['founded', 'seat'],
      text: `${name} was founded in the year ${founded} and has its seat in ${town.name}.`,
    },
    { words: ['head'], text: `The head of ${name} is ${head.name}.` },
  ];
}

/** The hard world of a seed: 160 people, 60 towns, 60 firms, 560 articles. */
export function makeHardWorld(seed: number): HardWorld {
  const key = ['quickstart-hard-world', seed] as const;
  const stream = draws(...key);
  const year = stream.under('year');
  const which = stream.under('which');
  const towns = shuffled(TOWNS, ...key, 'towns').map(
    (name, i): Town => ({
      name,
      founded: 1100 + year.integer(i, 700),
      river: RIVERS[which.integer(i, RIVERS.length)]!,
    }),
  );
  const firms = shuffled(FIRM_NAMES, ...key, 'firms')
    .slice(0, FIRM_WORDS)
    .flatMap((word, i) => {
      const first = which.integer(1000 + i, FIRM_KINDS.length);
      const second =
        (first + 1 + which.integer(1500 + i, FIRM_KINDS.length - 1)) % FIRM_KINDS.length;
      return [first, second].map((kind) => `${word} ${FIRM_KINDS[kind]}`);
    })
    .map(
      (name, i): Firm => ({
        name,
        founded: 1800 + year.integer(1000 + i, 120),
        town: towns[which.integer(2000 + i, towns.length)]!,
      }),
    );
  const firsts = shuffled(FIRST_NAMES, ...key, 'first').slice(0, FIRSTS);
  const lasts = shuffled(LAST_NAMES, ...key, 'last').slice(0, LASTS);
  const pairs = firsts.flatMap((first) => lasts.map((last) => `${first} ${last}`));
  const people = shuffled(pairs, ...key, 'people')
    .slice(0, PEOPLE)
    .map((name, i): Person => {
      const born = 1925 + year.integer(2000 + i, 60);
      const place = which.integer(3000 + i, towns.length);
      const home = (place + 1 + which.integer(3500 + i, towns.length - 1)) % towns.length;
      return {
        name,
        born,
        birthplace: towns[place]!,
        home: towns[home]!,
        firm: firms[which.integer(4000 + i, firms.length)]!,
        since: born + 16 + year.integer(3000 + i, 20),
      };
    });
  const heads = new Map(
    firms.map(({ name }, i) => [name, people[which.integer(5000 + i, people.length)]!]),
  );

  const articles: Article[] = [];
  const pages = new Map<string, string>();
  const tell = (name: string, two: readonly [Page, Page], index: number): void => {
    // The bare name finds the page with the shorter title.
    const first = stream.integer(index, 2);
    for (const [i, { words, text }] of two.entries()) {
      const title = i === first ? name : `${name} page`;
      articles.push({ id: `article-${articles.length}`, title, text });
      if (i === first) pages.set(name, text);
      for (const word of words) pages.set(`${name} ${word}`, text);
    }
  };
  const variant = stream.under('article');
  for (const [i, person] of people.entries()) {
    tell(person.name, personPages(person, variant.integer(i, 2)), i);
  }
  for (const [i, town] of towns.entries()) tell(town.name, townPages(town), 1000 + i);
  for (const [i, firm] of firms.entries()) {
    tell(firm.name, firmPages(firm, heads.get(firm.name)!), 2000 + i);
  }
  return { seed, people, towns, firms, heads, articles, pages };
}
