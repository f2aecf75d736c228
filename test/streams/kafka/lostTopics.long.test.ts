/** Topics of a run that are deleted on the broker, while a log is open and before one is opened. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../../streams/log.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { deleteTopics, makeTopic } from '../../support/deleteTopics.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { metric, question } from '../../support/records.ts';
import { until } from '../../support/until.ts';

describeKafka('a topic that is deleted on the broker', () => {
  let run: string;
  let log: Log;
  const open = (mode: 'read' | 'write', cluster?: string): Promise<Log> =>
    openKafkaLog({
      topics: allTopics,
      url: kafkaUrl,
      run,
      mode,
      ...(cluster === undefined ? {} : { cluster }),
    });

  beforeEach(async () => {
    run = freshRun();
    log = await open('write');
    await log.commit((tx) => {
      for (let i = 0; i < 5; i++) tx.append(topics.questions, question({ id: `q${i}` }));
      tx.append(topics.metrics, metric());
    });
  });
  afterEach(() => log.close());

  test('ends its readers and writers, and the log closes', async () => {
    const reading = log.read(topics.questions, { group: 'g', inflightMax: 9 });
    const failed = new Promise((resolve) => {
      reading.subscribe({ next: () => undefined, error: resolve });
    });
    await firstValueFrom(log.tap(topics.questions, { from: { kind: 'earliest' }, follow: false }));
    await deleteTopics(run, 'questions');
    const gone = {
      code: 'TOPIC_GONE',
      message: expect.stringMatching(
        `${run}.questions is no longer on the broker at .*deleted while`,
      ),
    };
    expect(await failed).toMatchObject(gone);
    const commit = log.commit((tx) => tx.append(topics.questions, question({ id: 'late' })));
    await expect(commit).rejects.toMatchObject(gone);
    await log.close();
  });

  test('ends its readers even if it was created again', async () => {
    const seen: string[] = [];
    const reading = log.read(topics.questions, { group: 'g', inflightMax: 9 });
    const failed = new Promise((resolve) => {
      reading.subscribe({ next: ({ value }) => void seen.push(value.id), error: resolve });
    });
    await until(() => seen.length >= 5);
    await deleteTopics(run, 'questions');
    await makeTopic(run, 'questions');
    expect(await failed).toMatchObject({ code: 'TOPIC_GONE' });
  });

  test.each([
    [['questions'], /questions was deleted on the broker, with 5 records/],
    [['questions', 'metrics'], /questions was deleted.*metrics was deleted/],
    [['_schemas'], /the schemas of all records.*were deleted/],
  ])('is missed when the run is resumed: %j', async (names, what) => {
    await log.close();
    await deleteTopics(run, ...names);
    await expect(open('write')).rejects.toMatchObject({
      code: 'TOPIC_GONE',
      message: expect.stringMatching(what),
    });
    const reader = await open('read');
    expect((await reader.lost?.())?.map(({ topic }) => topic).sort()).toEqual([...names].sort());
    await reader.close();
  });

  test('is missed even if it was created again', async () => {
    await log.close();
    await deleteTopics(run, 'questions');
    await makeTopic(run, 'questions');
    await expect(open('write')).rejects.toMatchObject({
      code: 'TOPIC_GONE',
      message: expect.stringMatching(
        /questions were deleted on the broker: at most 0 of 5 are left/,
      ),
    });
  });

  test('is distinguished from a complete run, and from another cluster', async () => {
    expect(await log.lost?.()).toEqual([]);
    const { cluster = '' } = log;
    expect(cluster).not.toBe('');
    await (await open('read', cluster)).close();
    await expect(open('read', 'another')).rejects.toMatchObject({
      code: 'OTHER_CLUSTER',
      message: expect.stringMatching(`on the Kafka cluster another, and this is ${cluster}`),
    });
  });
});
