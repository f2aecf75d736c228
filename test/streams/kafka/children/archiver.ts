/**
 * Archives all it may of a run, and is killed meanwhile. Usage: archiver.ts URL RUN ARCHIVE
 * RECORDS-OF-A-SEGMENT.
 */
import { openKafkaLog } from '../../../../streams/kafka/openKafkaLog.ts';
import { allTopics } from '../../../../topics/index.ts';

const [url = '', run = '', archive = '', records = ''] = process.argv.slice(2);

const log = await openKafkaLog({ topics: allTopics, url, run, mode: 'write' });
await log.retain!({ bytesMax: 0, segmentRecords: Number(records), archive });
console.log('archived');
// Killed from outside, even if there was little to do.
setInterval(() => undefined, 1000);
