/** `run --page`: the page in a process next to the run, which ends with it. */
import { afterAll, expect, test } from '@jest/globals';
import type { OverviewData } from '../../../page/wire/index.ts';
import { type Command, millrace, sets } from '../../support/commandLine.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { until } from '../../support/until.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const job = ['run', 'test/cli/fixtures/numbers.job.ts', '--runs', folder.path, '--page', '0'];

async function linkOf(run: Command): Promise<URL> {
  for (;;) {
    const link = /page at (\S+)/.exec(run.said)?.[1];
    if (link !== undefined) return new URL(link);
    if (run.process.exitCode !== null) throw new Error(run.said);
    await new Promise((resolve) => run.process.stderr?.once('data', resolve));
  }
}

async function overview(link: URL): Promise<OverviewData> {
  const authorization = `Bearer ${link.searchParams.get('t')}`;
  const answer = await fetch(`${link.origin}/r/seen.json`, { headers: { authorization } });
  return (await answer.json()) as OverviewData;
}

async function untilGone(link: URL): Promise<void> {
  await until(() =>
    fetch(link).then(
      () => false,
      () => true,
    ),
  );
}

test('a page next to a run shows it while it works, and ends when the run is killed', async () => {
  const settings = sets({ count: 4000, workMs: 50 });
  const run = millrace(...job, '--run', 'seen', ...settings);
  const link = await linkOf(run);
  expect(link.pathname).toBe('/r/seen');
  let seen: OverviewData;
  do seen = await overview(link);
  while (!(seen.run?.state === 'live' && seen.mill.stages.length > 0));
  expect(seen.mill.stages.find(({ name }) => name === 'work')?.shares?.busy).toBeGreaterThan(0);
  run.process.kill('SIGKILL');
  await untilGone(link);
});
