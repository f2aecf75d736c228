/** `millrace dlq retry` while another process runs the run: refused, and nothing is lost. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { main } from '../../../cli/program.ts';
import { millrace as start } from '../../support/commandLine.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { fakeIo } from '../support/fakeIo.ts';

const moment = (): Promise<void> => new Promise((done) => setTimeout(done, 20));

const row = (id: string, answers: readonly string[]): string =>
  JSON.stringify({ id, source: 's', question: 'q', answers, ability: 'qa' });

function refusesLive(url: string | null): void {
  const folder = temporaryFolder();
  const runs = folder.path;
  const run = freshRun();
  afterAll(() => folder.remove());

  const millrace = async (...args: readonly string[]) => {
    const io = fakeIo(process.cwd(), Date.now());
    const code = await main([...args, '--runs', runs], io);
    return { code, out: io.stdout(), err: io.stderr().join('\n') };
  };
  const lines = async <T>(...args: readonly string[]): Promise<readonly T[]> =>
    (await millrace(...args)).out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as T);
  const letters = () => lines<{ readonly retried: boolean }>('dlq', 'ls', run, '--json');
  /** Processes that have said something. */
  const speaking = async (): Promise<number> => {
    const frame = ['top', run, '--once', '--json', '--interval', '100ms'];
    const [now] = await lines<{ readonly workers: readonly unknown[] }>(...frame);
    return now?.workers.length ?? 0;
  };

  test('is refused, and works when the run has ended', async () => {
    const [file, gate] = [join(runs, 'questions.jsonl'), join(runs, 'gate')];
    await writeFile(file, `${row('first', ['a'])}\n${row('bad', [])}\n${row('last', ['a'])}\n`);
    const job = ['run', 'test/cli/fixtures/file.job.ts', '--run', run, '--runs', runs];
    const settings = ['--set', `file=${file}`, '--set', `gate=${gate}`];
    const live = start(...job, ...settings, ...(url === null ? [] : ['--log', url]));
    while ((await letters()).length === 0 || (await speaking()) === 0) {
      expect(live.process.exitCode).toBeNull();
      await moment();
    }
    await writeFile(file, `${row('first', ['a'])}\n${row('bad', ['b'])}\n${row('last', ['a'])}\n`);

    const refused = await millrace('dlq', 'retry', run);
    expect(refused).toEqual({ code: 1, out: '', err: expect.stringContaining('error (LOCKED)') });
    expect(refused.err).toContain(`process ${live.process.pid} `);
    expect(await letters()).toMatchObject([{ retried: false }]);

    await writeFile(gate, '');
    expect(await live.code).toBe(0);
    const { code, out } = await millrace('dlq', 'retry', run);
    expect([code, out]).toEqual([0, '0  put back\n']);
    expect(await start(...job).code).toBe(0);
    const rollouts = await lines<{ readonly question: { readonly id: string } }>(
      ...['tap', `${run}.rollouts`, '-o', 'ndjson'],
    );
    expect(rollouts.map(({ question }) => question.id).sort()).toEqual(['bad', 'first', 'last']);
  }, 120_000);
}

describe('dlq retry on the embedded log of a live run', () => refusesLive(null));
describeKafka('dlq retry over a broker, on a live run', () =>
  refusesLive(`${kafkaUrl}?partitions=2`),
);
