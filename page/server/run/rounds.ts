/**
 * Names rounds like the report: RL rounds are counted from 1, whatever came before them. A round that has
 * made no step yet already gets the name it will have.
 */
import { roundNames } from '../../../summary/index.ts';
import type { BatchKind, Question } from '../../../topics/index.ts';

export interface Rounds {
  /** `fine-tuning`, `round 2`. */
  readonly nameOf: (round: number, phase?: string) => string;
  /** When a question was asked: `practice, round 2`, `measured after round 2`. */
  readonly askedIn: (question: Pick<Question, 'phase' | 'round'>) => string;
}

/** Rounds that do not train on groups of rollouts, named by the phase of their questions. */
const words: Readonly<Record<string, string>> = { evolve: 'fine-tuning', prefer: 'preferences' };

export function roundsOf(
  known: readonly { readonly round: number; readonly name: string }[],
): Rounds {
  // A round about which nothing is known is called by its number.
  const named = known.filter(({ round, name }) => name !== String(round));
  const names = new Map(named.map(({ round, name }) => [round, name]));
  const others = named.flatMap(({ round, name }) => (/^round \d+$/.test(name) ? [] : [round]));
  const nameOf = (round: number, phase = ''): string => {
    if (round === 0) return 'training';
    const number = round - others.filter((other) => other < round).length;
    return names.get(round) ?? words[phase] ?? `round ${number}`;
  };
  const askedIn = ({ phase, round }: Pick<Question, 'phase' | 'round'>): string => {
    const name = nameOf(round, phase);
    if (phase !== 'evaluate') return round === 0 ? phase : `${phase}, ${name}`;
    return `measured ${round === 0 ? 'before' : 'after'} ${name}`;
  };
  return { nameOf, askedIn };
}

/** By what each round trains on. */
export function namedRounds(kinds: ReadonlyMap<number, BatchKind>): Rounds {
  const names = roundNames(
    [...kinds.keys()].sort((a, b) => a - b),
    kinds,
  );
  return roundsOf([...names].map(([round, name]) => ({ round, name })));
}
