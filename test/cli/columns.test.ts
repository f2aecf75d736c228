/** What commands print fits a terminal of 80 columns, and is plain where nothing can be drawn. */
import { describe, expect, test } from '@jest/globals';
import { commandNames } from '../../cli/commands/names.ts';
import { main } from '../../cli/program.ts';
import { isDrawn } from '../../cli/progress/spinner.ts';
import { topicsTable } from '../../cli/topics.ts';
import { fakeIo } from './support/fakeIo.ts';

async function helpOf(...args: string[]): Promise<string[]> {
  const io = fakeIo('/');
  await main([...args, '--help'], io);
  return io.stdout().split('\n');
}

/** Commands to copy have their own length. */
const isExample = (line: string): boolean =>
  /^ {2}(npx millrace|\S+=|eval|cat|jq) |^ {6}--/.test(line);

const INNER = ['model pull', 'model convert', 'weights receive', 'retriever serve', 'cache prune'];

test.each(['', ...commandNames, ...INNER])(
  'the help of millrace %s fits 80 columns',
  async (name) => {
    const words = name === '' ? [] : name.split(' ');
    const lines = await helpOf(...words);
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.filter((line) => line.length > 80 && !isExample(line))).toEqual([]);
  },
);

describe('the table of topics', () => {
  const lag = Object.fromEntries(
    ['rollout', 'score', 'measure', 'progress', 'files'].map((group, i) => [group, 1000 * i]),
  );
  const stats = [
    { topic: 'tool-calls', records: 123_456, bytes: 1e9, lag },
    { topic: 'metrics', records: 7, bytes: 10, lag: { files: 0 } },
  ] as unknown as Parameters<typeof topicsTable>[0];

  test('goes on below where a line would be too long, and loses nothing', () => {
    const lines = topicsTable(stats, 60).split('\n');
    expect(lines.filter((line) => line.length >= 60)).toEqual([]);
    expect(lines).toHaveLength(5);
    for (const [group, count] of Object.entries(lag))
      expect(lines.some((line) => line.includes(`${group} ${count}`))).toBe(true);
    expect(lines[1]).toMatch(/^tool-calls {3}123456 {2}953\.7 MiB {2}rollout 0/);
  });

  test('is a line a topic where there is no terminal', () => {
    expect(topicsTable(stats).split('\n')).toHaveLength(3);
  });
});

test('a line is drawn over only on a terminal that obeys control sequences', () => {
  expect(isDrawn({ terminal: true })).toBe(true);
  expect(isDrawn({ terminal: true, dumb: true })).toBe(false);
  expect(isDrawn({ terminal: false })).toBe(false);
});
