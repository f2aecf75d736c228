import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import type { ManualClock } from '../../../testing/manualClock.ts';
import { allTopics } from '../../../topics/index.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { keepsLogContract, type LogUnderTest } from '../../support/logContract.ts';
import { keepsRetentionContract } from '../../support/retentionContract.ts';

async function openFresh(clock: ManualClock): Promise<LogUnderTest> {
  const run = freshRun();
  const open = () => openKafkaLog({ topics: allTopics, url: kafkaUrl, run, mode: 'write', clock });
  let log = await open();
  return {
    log,
    async reopen() {
      await log.close();
      log = await open();
      return log;
    },
    remove: () => log.close(),
  };
}

describeKafka('a log over a broker', () => {
  keepsLogContract('the Kafka log', openFresh);
  keepsRetentionContract('the Kafka log', openFresh);
});
