import { describe, expect, test } from '@jest/globals';
import { beforeCall } from '../../../operators/rollout/backTrace.ts';

describe('a text before its last call', () => {
  test.each([
    // The published values.
    ['a\nb. c </think><python>x', 'a\nb. ', 'a\n'],
    ['no call', 'no call', 'no call'],
    ['one</think><python>x', '', ''],
    ['one. two</think> <python>x', 'one. ', ''],
    ['one\ntwo </think> \n<python>x', 'one\n', 'one\n'],
    ['one\ntwo\n\n<python>x', 'one\n', 'one\n'],
    ['a.b</think><python>x', '', ''],
    ['<python>1</python> a. b</think><python>2', '<python>1</python> a. ', ''],
  ])('%j is %j by sentences and %j by lines', (text, sentence, line) => {
    expect(beforeCall(text, 'python', 'sentence')).toBe(sentence);
    expect(beforeCall(text, 'python', 'line')).toBe(line);
  });
});
