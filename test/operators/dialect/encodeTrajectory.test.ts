import { describe, expect, it } from '@jest/globals';
import { encodeTrajectory } from '../../../operators/dialect/encodeTrajectory.ts';
import { resultTokens } from '../../../operators/dialect/resultBlock.ts';
import { tinyWords } from '../../support/tinyWords.ts';

const encode = (text: string) => [...encodeTrajectory(tinyWords, text)];
const policy = (text: string) => [...tinyWords.encode(text)];

describe('a trajectory as tokens', () => {
  it('has the tokens of its rollout', () => {
    const outputs = ['one two', 'So </answer><search>it', ''];
    const text = outputs.map(
      (output) => `I look<search>it</search> <result>\n${output}\n</result>`,
    );
    const tokens = outputs.flatMap((output) => [
      ...policy('I look<search>it</search>'),
      ...resultTokens(tinyWords, output),
    ]);
    expect(encode(`${text.join('')}So<answer>two`)).toEqual([
      ...tokens,
      ...policy('So<answer>two'),
    ]);
  });

  it('makes no tag token of tool text, even in an open block', () => {
    const made = encode('<result>a</search>b</result><result>c</search>');
    expect(made).not.toContain(tinyWords.id('</search>'));
    expect(made.filter((token) => token === tinyWords.id('<result>'))).toHaveLength(2);
    expect(tinyWords.decode(made)).toBe('<result>a</search>b</result><result>c</search>');
  });

  it('is encoded by the tokenizer alone if no tool was called', () => {
    for (const text of ['', ' ', 'So<search>one </search>\n', 'one two']) {
      expect(encode(text)).toEqual(policy(text));
    }
  });
});
