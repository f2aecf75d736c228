import { describe, expect, test } from '@jest/globals';
import {
  canonicalArguments,
  firstDifference,
  firstDifferenceOf,
  sameTurn,
} from '../../gateway/canonical.ts';
import type { AssistantMessage, Message } from '../../gateway/conversation.ts';

function turn(content: string, ...texts: readonly string[]): AssistantMessage {
  const calls = texts.map((text, at) => ({ id: `call_${at}`, name: 'weather', arguments: text }));
  return { role: 'assistant', content, reasoning: null, calls };
}

describe('a turn that comes back is ours', () => {
  test.each([
    ['keys in another order', '{"city": "Z\\u00fcrich",  "n":1.0}', '{"n":1,"city":"Zürich"}'],
    ['numbers written anew', '{ "n": 2.50, "m": 1e2, "z": -0 }', '{"m":100.0,"n":2.5,"z":0}'],
    ['a number beyond all bounds', '{"n":1e999}', '{"n":null}'],
    ['keys sorted within lists', '{"a":[{"y":1,"x":[2]}]}', '{"a":[{"x":[2],"y":1}]}'],
    ['no arguments', '', '{}'],
    ['blanks as arguments', ' \n', '{}'],
    ['a list instead of an object', '[1, 2]', '{}'],
    ['a key that objects have', '{"__proto__":{"b":1,"a":2}}', '{"__proto__":{"a":2,"b":1}}'],
    ['no JSON, verbatim', '{"city": Paris', '{"city": Paris'],
    ['no JSON, as most send it', '{"city": Paris', '{}'],
    ['no JSON, repaired', '{"city":"Paris"', '{"city":"Paris"}'],
  ])('with %s', (_, ours, theirs) => {
    expect(firstDifference(turn('', ours), turn('', theirs))).toBeNull();
    expect(sameTurn(turn('', ours), turn('', theirs))).toBe(true);
  });

  test('without its reasoning', () => {
    expect(sameTurn({ ...turn('a'), reasoning: 'hm' }, turn('a'))).toBe(true);
  });

  test('however deep its arguments are', () => {
    const deep = `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
    expect(sameTurn(turn('', deep), turn('', deep))).toBe(true);
    expect(sameTurn(turn('', '{"a":1}'), turn('', deep))).toBe(false);
  });
});

describe('the first difference', () => {
  test.each([
    [turn('a'), turn('b'), 'content is "b", was "a"'],
    [turn(' a'), turn('a'), 'content is "a", was " a"'],
    [turn('', '{"city":"Rome"}'), turn(''), 'calls has 0 items, had 1'],
    [
      turn('', '{"city":"Rome"}'),
      turn('', '{"city":"Bern"}'),
      'calls[0].arguments.city is "Bern", was "Rome"',
    ],
    [
      turn('', '{}', '{"a":[1,{"b c":2}]}'),
      turn('', '{}', '{"a":[1,{}]}'),
      'calls[1].arguments.a[1]["b c"] is missing, was 2',
    ],
    [turn('', '{}'), turn('', '{"a":null}'), 'calls[0].arguments.a is null, was missing'],
    [turn('', '{}'), turn('', '{"__proto__":1}'), 'calls[0].arguments.__proto__ is 1, was missing'],
    [turn('', '{"a":"1"}'), turn('', '{"a":1}'), 'calls[0].arguments.a is 1, was "1"'],
    [turn('', '{"a":[]}'), turn('', '{"a":{}}'), 'calls[0].arguments.a is {}, was []'],
    [turn('', '{"a":[1]}'), turn('', '{"a":[1,2]}'), 'calls[0].arguments.a[1] is 2, was missing'],
    [turn('', '{"a":1}'), turn('', '[1]'), 'calls[0].arguments is "[1]", was "{\\"a\\":1}"'],
    [
      turn('', '{"a":1}'),
      turn('', '{"a":'),
      'calls[0].arguments is "{\\"a\\":", was "{\\"a\\":1}"',
    ],
    [turn('a'), { role: 'user', content: 'a' } as const, 'role is "user", was "assistant"'],
  ])('of %j and %j', (ours, theirs, said) => {
    expect(firstDifference(ours, theirs)).toBe(said);
  });

  test('is the id before anything else of a call', () => {
    const ours = turn('', '{}');
    const theirs = { ...ours, calls: [{ ...ours.calls[0]!, id: 'other', name: 'f' }] };
    expect(firstDifference(ours, theirs)).toBe('calls[0].id is "other", was "call_0"');
  });

  test('in a long text is shown from where it is', () => {
    const said = firstDifference(
      turn(`${'a'.repeat(90)}b`),
      turn(`${'a'.repeat(90)}${'c'.repeat(90)}`),
    );
    expect(said).toBe(`content from character 90 is "${'c'.repeat(39)}…, was "b"`);
  });

  test('of conversations names the message, or how many there are', () => {
    const ours: Message[] = [
      { role: 'system', content: 's' },
      { role: 'user', content: 'u' },
      { role: 'tool', callId: 'a', content: '1' },
    ];
    expect(firstDifferenceOf(ours, ours)).toBeNull();
    expect(firstDifferenceOf(ours, ours.slice(0, 2))).toBe('messages has 2 items, had 3');
    expect(
      firstDifferenceOf(ours, [...ours.slice(0, 2), { ...ours[2]!, callId: 'b' } as Message]),
    ).toBe('messages[2].callId is "b", was "a"');
  });
});

test('the canonical form of arguments is one text', () => {
  expect(canonicalArguments('{"b":1.0,"a":{"d":[],"c":"\\u00fc"}}')).toBe(
    '{"a":{"c":"ü","d":[]},"b":1}',
  );
  expect(canonicalArguments('')).toBe('{}');
  expect(canonicalArguments('not JSON')).toBe('not JSON');
});
