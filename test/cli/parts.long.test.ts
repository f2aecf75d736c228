/**
 * A run that several processes share, by the command line: one leads and ends by itself, the others follow
 * it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { openKafkaLog } from '../../streams/kafka/openKafkaLog.ts';
import { allTopics } from '../../topics/index.ts';
import { millrace } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../support/kafka.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

describeKafka('processes that share a run', () => {
  test('end when the one that leads says that it is done', async () => {
    const run = freshRun();
    const job = ['run', 'bench/scale/job.ts', '--run', run, '--runs', folder.path];
    const settings = ['--set', 'questions=40', '--set', 'serviceMs=5'];
    const log = `${kafkaUrl}?partitions=4`;
    const leader = millrace(...job, '--log', log, '--except', 'rollout', ...settings);
    const record = (): { status: string } =>
      JSON.parse(readFileSync(join(folder.path, run, 'run.json'), 'utf8'));
    // The others need its folder, and its weights.
    await until(async () => {
      const opened = await openKafkaLog({ topics: allTopics, url: log, run, mode: 'read' }).catch(
        () => null,
      );
      const records = (await opened?.stats())?.find(({ topic }) => topic === 'weights')?.records;
      await opened?.close();
      return records === 1;
    });
    expect(record().status).toBe('running');
    const workers = ['a', 'b'].map((worker) =>
      millrace(...job, '--only', 'rollout', '--worker', worker),
    );
    const all = [leader, ...workers];
    expect(await Promise.all(all.map(({ code }) => code))).toEqual([0, 0, 0]);
    for (const { said } of all) expect(said).toMatch(/done; see it with: npx millrace report/);
    expect(record().status).toBe('done');
    const read = await openKafkaLog({ topics: allTopics, url: log, run, mode: 'read' });
    const rollouts = (await read.stats()).find(({ topic }) => topic === 'rollouts');
    await read.close();
    expect(rollouts?.records).toBe(40 * 4);
  });
});
