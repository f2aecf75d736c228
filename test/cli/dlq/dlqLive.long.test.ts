/** `millrace dlq retry` while another process runs the run: refused, and nothing is lost. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { main } from '../../../cli/program.ts';
import { type Command, millrace as start } from '../../support/commandLine.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { until } from '../../support/until.ts';
import { fakeIo } from '../support/fakeIo.ts';

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
  /** Waits until the process has said something. */
  const alive = async ({ process: child }: Command): Promise<void> => {
    const look = ['top', run, '--once', '--json', '--interval', '100ms'];
    await until(async () => {
      expect(child.exitCode).toBeNull();
      const [frame] = await lines<{ readonly workers: readonly { readonly pid: number }[] }>(
        ...look,
      );
      return frame?.workers.some((worker) => worker.pid === child.pid);
    });
  };
  const refused = async ({ process: { pid } }: Command): Promise<void> => {
    const { code, out, err } = await millrace('dlq', 'retry', run);
    expect({ code, out, err }).toEqual({ code: 1, out: '', err: expect.stringMatching(/LOCKED/) });
    expect(err).toContain(`process ${pid} `);
  };

  test('is refused while the run works or builds its job, and works once it has ended', async () => {
    const [file, built, gate] = ['questions.jsonl', 'built', 'gate'].map((name) =>
      join(runs, name),
    );
    const rows = (bad: readonly string[]): Promise<void> =>
      writeFile(file!, [row('first', ['a']), row('bad', bad), row('last', ['a']), ''].join('\n'));
    await rows([]);
    await writeFile(built!, '');
    const job = ['run', 'test/cli/fixtures/file.job.ts', '--run', run, '--runs', runs];
    const settings = [`file=${file}`, `built=${built}`, `gate=${gate}`];
    const set = settings.flatMap((setting) => ['--set', setting]);
    const first = start(...job, ...set, ...(url === null ? [] : ['--log', url]));
    await until(async () => {
      expect(first.process.exitCode).toBeNull();
      return (await letters()).length > 0;
    });
    await alive(first);
    await rows(['b']);
    await refused(first);
    expect(await letters()).toMatchObject([{ retried: false }]);

    await writeFile(gate!, '');
    expect(await first.code).toBe(0);
    const { code, out } = await millrace('dlq', 'retry', run);
    expect([code, out]).toEqual([0, '0  put back\n']);

    await rm(built!);
    const second = start(...job);
    await alive(second);
    await refused(second);
    await writeFile(built!, '');
    expect(await second.code).toBe(0);
    const rollouts = await lines<{ readonly question: { readonly id: string } }>(
      ...['tap', `${run}.rollouts`, '-o', 'ndjson'],
    );
    expect(rollouts.map(({ question }) => question.id).sort()).toEqual(['bad', 'first', 'last']);
  });
}

describe('dlq retry on the embedded log of a live run', () => refusesLive(null));
describeKafka('dlq retry over a broker, on a live run', () =>
  refusesLive(`${kafkaUrl}?partitions=2`),
);
