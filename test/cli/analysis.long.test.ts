/** Every command, page and query of docs/analysis.md is asked of a small run, and has an answer. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../base/clock.ts';
import { main } from '../../cli/program.ts';
import { checkedOptions, serveView } from '../../cli/view/view.ts';
import type { Viewer } from '../../page/server/http/serve.ts';
import { duckdb } from '../support/duckdb.ts';
import { temporaryFolder } from '../support/folder.ts';
import { tinyRun } from '../support/tinyRun.ts';
import { fakeIo } from './support/fakeIo.ts';

const page = readFileSync(new URL('../../docs/analysis.md', import.meta.url), 'utf8')
  // What the small run has in place of these.
  .replaceAll('train-7', 'sum-15')
  .replaceAll(/\b40\b/g, '3');
const sections = page
  .split(/^## /m)
  .slice(1)
  .map((text) => ({
    title: text.slice(0, text.indexOf('\n')),
    commands: blocks(text, 'sh'),
    queries: blocks(text, 'sql'),
    pages: [...text.matchAll(/`(\/(?:r|diff)\/[^`]*)`/g)].map(([, path]) => path!),
  }));

function blocks(text: string, kind: string): readonly string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)\`\`\``, 'gm'))].flatMap(
    ([, block]) => block!.trim().split('\n'),
  );
}

const folder = temporaryFolder();
const token = 'a-token-for-these-tests';
let viewer: Viewer;

async function run(command: string) {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare!,
  );
  expect(words.splice(0, 2)).toEqual(['npx', 'millrace']);
  const io = fakeIo(folder.path);
  return { code: await main(words, io), out: io.stdout(), err: io.stderr().join('\n') };
}

beforeAll(async () => {
  await tinyRun(join(folder.path, 'runs'), 'first');
  await tinyRun(join(folder.path, 'runs'), 'second', { settings: { keep: 6 } });
  const [exported] = blocks(page.slice(0, page.indexOf('\n## ')), 'sh');
  expect((await run(exported!)).code).toBe(0);
  const options = { runs: join(folder.path, 'runs'), port: 0, token };
  const io = { ...fakeIo(folder.path), clock: systemClock };
  viewer = await serveView(options, checkedOptions(options), io);
});
afterAll(async () => {
  await viewer.close();
  folder.remove();
});

test('the page on analysis answers ten questions, each by a command, a page and a query', () => {
  expect(sections).toHaveLength(10);
  for (const { title, commands, queries, pages } of sections) {
    expect([title, commands.length, queries.length, pages.length > 0]).toEqual([title, 1, 1, true]);
  }
});

describe.each(sections)('$title', ({ commands, queries, pages }) => {
  test('is answered by the command', async () => {
    const { code, out, err } = await run(commands[0]!);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\n').length).toBeGreaterThan(2);
  });

  test('is answered by a page that exists', async () => {
    for (const path of pages) {
      const [name, query = ''] = path.split('?');
      const response = await fetch(`http://127.0.0.1:${viewer.port}${name}.json?${query}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect([path, response.status]).toEqual([path, 200]);
      await response.arrayBuffer();
    }
  });

  test('is answered by the query', async () => {
    const query = queries[0]!.replaceAll("'tables/", `'${folder.path}/tables/`);
    const rows = await duckdb(query);
    expect(rows.length).toBeGreaterThan(0);
    for (const value of Object.values(rows[0]!)) expect(value).not.toBeNull();
  });
});
