import { expect, it } from '@jest/globals';
import { sampleBox } from '../../summary/html/sample.ts';
import { question } from '../cli/support/records.ts';

it('tags of a trajectory are highlighted, for any tool, and other text is plain', () => {
  const { markup } = sampleBox(question('q'), 'why', [
    {
      label: 'after',
      right: true,
      verdict: 'right',
      toolCalls: 1,
      finish: 'answer',
      facts: [],
      text: '<think>so</think><look.up>x</look.up><lookXup><b>y',
      tools: ['look.up'],
    },
  ]);
  expect(markup).toContain('1 tool call, ended by answer');
  expect(markup).toContain('<b class="t-think">&lt;think&gt;</b><span class="t-think">so</span>');
  expect(markup).toContain(
    '<b class="t-tool open">&lt;look.up&gt;</b><span class="t-tool">x</span>',
  );
  expect(markup).toContain('&lt;lookXup&gt;&lt;b&gt;y');
});

it('a long trajectory is folded between two lines, and continues in its colour', () => {
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i}`);
  const text = `<think>so</think><result>${lines.join('\n')}</result><answer>x</answer>`;
  const { markup } = sampleBox(question('q'), '', [
    {
      label: '',
      right: true,
      verdict: '',
      toolCalls: 0,
      finish: 'answer',
      facts: [],
      text,
      tools: [],
    },
  ]);
  const [first, rest] = markup.split('<details>');
  expect(first).toMatch(/line 58\n<\/span><\/pre>/);
  expect(rest).toMatch(/<summary>42 more lines<\/summary><pre><span class="t-result">line 59\n/);
  expect(markup).toContain('line 99');
});
