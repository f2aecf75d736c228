/** The functions that transformers gives every template. */
import { bind, bindPositional } from './arguments.ts';
import { fail, unsupported } from './failure.ts';
import { toStr } from './print.ts';
import { dateText } from './strftime.ts';
import { plain } from './text.ts';
import {
  type Arguments,
  Callable,
  Dict,
  iterate,
  Namespace,
  Range,
  Tuple,
  typeName,
  type Value,
  whole,
} from './values.ts';

/** `now` is the time for `strftime_now`, in UTC; without it the function does not exist. */
export function globals(now: Date | undefined): ReadonlyMap<string, Value> {
  const functions: Record<string, (args: Arguments, name: string) => Value> = {
    raise_exception: (args, name) => fail(text(bind(name, args, ['message'], 1)[0])),
    range: (args, name) => range(args, name),
    dict: (args) => dictOf(args),
    namespace: (args) => {
      const made = new Namespace();
      for (const [key, value] of dictOf(args).entries.values()) made.fields.set(text(key), value);
      return made;
    },
    cycler: (_, name) => unsupported(name),
    joiner: (_, name) => unsupported(name),
    lipsum: (_, name) => unsupported(name),
  };
  if (now !== undefined)
    functions.strftime_now = (args, name) =>
      dateText(text(bind(name, args, ['format'], 1)[0]), now);
  return new Map(
    Object.entries(functions).map(([name, act]) => [
      name,
      new Callable(name, (args) => act(args, name)),
    ]),
  );
}

const text = (value: Value | undefined): string => plain(toStr(value ?? null));

function range(args: Arguments, name: string): Range {
  const given = bindPositional(name, args, 1, 3).filter((value) => value !== undefined);
  const numbers = given.map(
    (value) =>
      whole(value) ?? fail(`'${typeName(value)}' object cannot be interpreted as an integer`),
  );
  const [first = 0n, second, step = 1n] = numbers;
  return second === undefined ? new Range(0n, first, 1n) : new Range(first, second, step);
}

function dictOf({ positional, named }: Arguments): Dict {
  const [given, ...more] = positional;
  if (more.length > 0) fail(`dict expected at most 1 argument, got ${positional.length}`);
  const before =
    given === undefined
      ? []
      : given instanceof Dict
        ? [...given.entries.values()]
        : [...iterate(given)].map(pair);
  return new Dict([...before, ...named]);
}

function pair(value: Value): readonly [Value, Value] {
  const items = value instanceof Tuple ? value.items : [...iterate(value)];
  const [key, item] = items;
  return items.length !== 2 || key === undefined || item === undefined
    ? fail('dictionary update sequence element is not a pair')
    : [key, item];
}
