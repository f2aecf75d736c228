/** Questions about one thing or two, with the calls that answer them. */
import { draws } from 'millrace';
import type { CallGold } from 'millrace/operators';
import { functionOf, type Item, KINDS, NAMES, PROPERTIES, valueIn } from './functions.ts';

/** A question, its answer and the calls that it takes. */
export interface Task {
  readonly id: string;
  readonly question: string;
  readonly answer: string;
  readonly items: readonly Item[];
}

/** Share of questions about two things. */
const PAIRS = 0.3;

/** `count` different questions of the named set. */
export function makeTasks(
  seed: number,
  name: string,
  count: number,
  except: ReadonlySet<string> = new Set(),
): readonly Task[] {
  const stream = draws('deep-agent-tasks', seed, name);
  const seen = new Set(except);
  const tasks: Task[] = [];
  for (let i = 0; tasks.length < count; i++) {
    const own = stream.under(i);
    const item = (at: number): Item => ({
      property: PROPERTIES[own.integer(at, PROPERTIES.length)]!,
      kind: KINDS[own.integer(at + 1, KINDS.length)]!,
      name: NAMES[own.integer(at + 2, NAMES.length)]!,
    });
    const items = own.uniform(9) < PAIRS ? [item(0), item(3)] : [item(0)];
    const question = `What is ${items.map(phrase).join(' and ')}?`;
    if (seen.has(question)) continue;
    seen.add(question);
    const answer = items.map((one) => valueIn(seed, one)).join(' and ');
    tasks.push({ id: `${name}-${tasks.length}`, question, answer, items });
  }
  return tasks;
}

/** `the height of the tower Arlen` */
export function phrase({ property, kind, name }: Item): string {
  return `the ${property} of the ${kind} ${name}`;
}

/** What a question's text tells about the calls that answer it. */
export function goldOf(question: string): CallGold {
  const asked = [...question.matchAll(/the (\w+) of the (\w+) (\w+)/g)];
  const calls = asked.map(([, property = '', kind = '', of = '']) => ({
    name: functionOf({ kind, property }),
    arguments: { of },
  }));
  return { kind: 'calls', calls };
}
