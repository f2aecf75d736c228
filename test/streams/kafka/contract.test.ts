import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { keepsLogContract } from '../../support/logContract.ts';

describeKafka('over a broker', () => {
  keepsLogContract('the Kafka log', async (clock) => {
    const run = freshRun();
    const open = () => openKafkaLog({ url: kafkaUrl, run, mode: 'write', clock });
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
  });
});
