/**
 * An invented world: people, towns and firms with their facts, and one short article about each.
 *
 * Everything follows from the seed. Each seed draws its own facts, so nothing that a policy learnt in
 * one world answers a question about another: it has to look things up.
 */
import { draws, shuffled } from 'millrace';
import { FIRM_KINDS, FIRM_NAMES, FIRST_NAMES, LAST_NAMES, RIVERS, TOWNS } from './names.ts';

export interface Person {
  readonly kind: 'person';
  readonly name: string;
  readonly born: number;
  readonly town: Town;
  readonly firm: Firm;
}
export interface Town {
  readonly kind: 'town';
  readonly name: string;
  readonly founded: number;
  readonly river: string;
}
export interface Firm {
  readonly kind: 'firm';
  readonly name: string;
  readonly founded: number;
  readonly town: Town;
}

export interface Article {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

export interface World {
  readonly seed: number;
  readonly people: readonly Person[];
  readonly towns: readonly Town[];
  readonly firms: readonly Firm[];
  readonly articles: readonly Article[];
}

const PEOPLE = 160;

function personArticle(person: Person, variant: number): string {
  const { name, born, town, firm } = person;
  return variant === 0
    ? `${name} was born in ${town.name} in the year ${born}. ${name} works for ${firm.name}.`
    : `${name} works for ${firm.name}. Born in the year ${born}, ${name} comes from ${town.name}.`;
}

function townArticle(town: Town, variant: number): string {
  return variant === 0
    ? `${town.name} is a town on the river ${town.river}. It was founded in the year ${town.founded}.`
    : `Founded in the year ${town.founded}, ${town.name} lies on the river ${town.river}.`;
}

function firmArticle(firm: Firm, variant: number): string {
  return variant === 0
    ? `${firm.name} is a firm in ${firm.town.name}. It was founded in the year ${firm.founded}.`
    : `Founded in the year ${firm.founded}, ${firm.name} has its seat in ${firm.town.name}.`;
}

/** The world of a seed: 160 people, 60 towns, 60 firms, 280 articles. */
export function makeWorld(seed: number): World {
  const key = ['quickstart-world', seed] as const;
  const stream = draws(...key);
  const year = stream.under('year');
  const which = stream.under('which');
  const towns = shuffled(TOWNS, ...key, 'towns').map(
    (name, i): Town => ({
      kind: 'town',
      name,
      founded: 1100 + year.integer(i, 700),
      river: RIVERS[which.integer(i, RIVERS.length)]!,
    }),
  );
  const firms = shuffled(FIRM_NAMES, ...key, 'firms').map((word, i): Firm => {
    const kind = FIRM_KINDS[which.integer(1000 + i, FIRM_KINDS.length)]!;
    const town = towns[which.integer(2000 + i, towns.length)]!;
    return {
      kind: 'firm',
      name: `${word} ${kind}`,
      founded: 1800 + year.integer(1000 + i, 180),
      town,
    };
  });
  const pairs = FIRST_NAMES.flatMap((first) => LAST_NAMES.map((last) => `${first} ${last}`));
  const people = shuffled(pairs, ...key, 'people')
    .slice(0, PEOPLE)
    .map(
      (name, i): Person => ({
        kind: 'person',
        name,
        born: 1900 + year.integer(2000 + i, 90),
        town: towns[which.integer(3000 + i, towns.length)]!,
        firm: firms[which.integer(4000 + i, firms.length)]!,
      }),
    );
  const variant = stream.under('article');
  const articles = [
    ...people.map(
      (person, i) => [person.name, personArticle(person, variant.integer(i, 2))] as const,
    ),
    ...towns.map(
      (town, i) => [town.name, townArticle(town, variant.integer(1000 + i, 2))] as const,
    ),
    ...firms.map(
      (firm, i) => [firm.name, firmArticle(firm, variant.integer(2000 + i, 2))] as const,
    ),
  ].map(([title, text], i): Article => ({ id: `article-${i}`, title, text }));
  return { seed, people, towns, firms, articles };
}
