import { describe, expect, test } from '@jest/globals';
import { isPreferenceFormat } from '../../../operators/dialect/preferenceFormat.ts';
import { finalAnswerForm } from '../../../operators/text/finalAnswer.ts';
import { searchCacheKey } from '../../../operators/tools/search/searchTool.ts';
import { countCallsWithFences } from '../../oracles/trajectory.ts';
import { paperTools } from '../../support/paperTools.ts';

describe('the preference format', () => {
  const good =
    '<think>a</think> <search>b</search><result>c</result>\n<think>d</think><answer>\\boxed{1}</answer>';

  test('requires thinking before a call and after its result', () => {
    expect(isPreferenceFormat(good, paperTools)).toBe(true);
    expect(isPreferenceFormat(good.replace('</think> <s', '</think> so <s'), paperTools)).toBe(
      false,
    );
    expect(isPreferenceFormat(good.replace('\n<think>', '\nso <think>'), paperTools)).toBe(false);
  });

  test('allows no other tag in the answer', () => {
    expect(isPreferenceFormat(good.replace('\\boxed', '</think><think>\\boxed'), paperTools)).toBe(
      false,
    );
  });
});

test('calls are counted in tags and in code fences', () => {
  expect(countCallsWithFences('<python>a</python>```python\nb\n```<search>', paperTools)).toBe(2);
});

test('a final answer loses units, spaces and thousands separators', () => {
  expect(finalAnswerForm('$1,234$ meters')).toBe('1234');
  expect(finalAnswerForm('\\frac12 \\text{ cm}')).toBe('\\frac{1}{2}');
});

test('a search key ignores case and punctuation, and keeps letters of every script', () => {
  expect(searchCacheKey('  Who\'s "A-B"? ')).toBe('whos ab');
  expect(searchCacheKey('Où est Łódź?')).toBe('où est łódź');
});
