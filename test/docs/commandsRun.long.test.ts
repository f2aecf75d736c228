/**
 * Commands of the documentation that only read a run are run, on a small run of the name that the pages use.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { fakeIo } from '../cli/support/fakeIo.ts';
import { temporaryFolder } from '../support/folder.ts';
import { tinyRun } from '../support/tinyRun.ts';
import { commandsIn, pages } from './support.ts';

const READS = ['report', 'topics', 'tap', 'top', 'doctor', 'diff', 'export', 'pack'];
/** They follow a run, change it, or need what a small run has not. */
const LEFT_OUT = ['-f', '--follow', '--fix', '--index', '--partition', 'real', 'agent', 'stock-1'];

const commands = pages
  .flatMap((page) => commandsIn(page, 'millrace'))
  .filter(({ words }) => READS.includes(words[1]!))
  .filter(({ words, line }) => !/[…<]/.test(line) && !words.some((word) => LEFT_OUT.includes(word)))
  .filter(({ words }) => words.slice(2).some((word) => /^(first|second)\b/.test(word)));
const typed = [...new Map(commands.map((one) => [one.words.join(' '), one])).values()];

const folder = temporaryFolder();
beforeAll(async () => {
  await tinyRun(join(folder.path, 'runs'), 'first');
  await tinyRun(join(folder.path, 'runs'), 'second', { settings: { keep: 6 } });
});
afterAll(() => folder.remove());

describe('a command of the documentation that reads a run', () => {
  test('is one of many', () => {
    expect(typed.length).toBeGreaterThan(20);
  });

  test.each(
    typed.map(({ words }) => words.slice(1)).map((words) => ({ words, said: words.join(' ') })),
  )('millrace $said', async ({ words }) => {
    const io = fakeIo(folder.path);
    const once = words[0] === 'top' && !words.includes('--once') ? [...words, '--once'] : words;
    const code = await main(once, io);
    expect([code, code === 0 ? '' : io.stderr().join('\n')]).toEqual([0, '']);
    expect(io.stdout() + io.stderr().join('\n')).not.toBe('');
  });
});
