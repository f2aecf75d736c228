import { expect, it } from '@jest/globals';
import { sampleBox } from '../../views/html/sample.ts';
import { question } from '../cli/support/records.ts';

it('tags of a trajectory are highlighted, those of any tool too, and other text is text', () => {
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
