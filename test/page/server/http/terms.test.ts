/** What names mean on the page, read from docs/metrics.md. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { terms, termsIn } from '../../../../page/server/http/terms.ts';

describe('the terms of the page', () => {
  test('have the sentence, the unit and what is healthy of a metric, without marks', () => {
    const markdown = [
      '## Speed',
      '| name | what it is | unit | healthy |',
      '| ---- | ---------- | ---- | ------- |',
      '| `a/b` | the `x` of [it](it.md) | ms | steady |',
      '## Stages',
      '| `score` | gives rewards |',
    ].join('\n');
    expect(termsIn(markdown).terms).toEqual({
      'metric a/b': { what: 'the x of it', unit: 'ms', healthy: 'steady' },
      'stage score': { what: 'gives rewards', unit: '', healthy: '' },
    });
  });

  test('are those of docs/metrics.md: metrics, parts of a reward, verdicts, stages, shares of time', () => {
    const { terms: known } = terms();
    const rows = readFileSync('docs/metrics.md', 'utf8').match(/^\| `/gm)!;
    expect(Object.keys(known)).toHaveLength(rows.length);
    for (const name of [
      'metric reward/mean',
      'part raw',
      'verdict crowded',
      'stage score',
      'time paced',
    ]) {
      expect(known[name]?.what).toMatch(/\w+ \w+/);
    }
  });
});
