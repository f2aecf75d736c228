import { expect, it } from '@jest/globals';
import { settingsTable } from '../../summary/html/settingsTable.ts';

const settings = { lr: 0.1, keep: 192, loss: { clip: 0.2, kind: 'k3' }, sigmas: [1, 2] };

it('changed settings come first, marked, with default and origin; the others are folded', () => {
  const changed = { 'loss.clip': { from: 'my.yaml:3', default: 0.1 }, keep: { from: '--set' } };
  const { markup } = settingsTable({ settings, changed });
  const [own, others] = markup.split('<details>');
  expect(
    [...own!.matchAll(/<tr class="changed"><td class="key">([^<]*)</g)].map(([, k]) => k),
  ).toEqual(['keep', 'loss.clip']);
  expect(own).toContain(
    '<b>0.2</b></td><td class="muted">default 0.1</td><td class="muted">my.yaml:3</td>',
  );
  expect(others).toContain('3 settings at the job’s default');
  expect(others).toContain('<td class="key">loss.kind</td>');
  expect(others).not.toContain('loss.clip');
});

it('all settings are shown if it is not known which were changed', () => {
  const { markup } = settingsTable({ settings });
  expect(markup.match(/<tr>/g)).toHaveLength(5);
  expect(markup).not.toContain('<details>');
});
