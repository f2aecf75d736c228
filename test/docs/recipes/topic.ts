/** Records of the topic, written and read back, found by the run's list of topics. */
import { openLog } from '../../../streams/embedded/openLog.ts';
import { recordsOf } from '../../../streams/recordsOf.ts';
import { allTopics, runTopic } from '../../../topics/index.ts';

export default async function run(folder: string): Promise<unknown> {
  const topic = runTopic('notes')!;
  const log = await openLog({ folder, mode: 'write' });
  await log.commit((tx) => tx.append(topic, { questionId: 'q1', author: 'Ada', text: 'too easy' }));
  const read = [];
  for await (const { key, value } of recordsOf(log, topic, { from: { kind: 'earliest' } })) {
    read.push({ key, line: topic.line(value), links: topic.links(value, '0').length });
  }
  await log.close();
  return { read, last: allTopics.at(-1)?.name };
}
