/**
 * Whether the topics of a run still hold everything that the run has recorded writing to them: notices a
 * deletion on the broker before anything else is used.
 */
import { MillraceError } from '../../base/index.ts';
import type { LostTopic } from '../log.ts';
import type { KafkaTopics } from './kafkaTopics.ts';
import type { Link } from './link.ts';
import { SCHEMAS_TOPIC } from './logRegistry.ts';
import { beginning, writtenEnd } from './pages.ts';
import type { StateTopic } from './stateTopic.ts';

/** Archived records do not count: the run itself deleted them. */
export async function lostTopics(
  link: Link,
  topics: KafkaTopics,
  state: StateTopic,
): Promise<readonly LostTopic[]> {
  const lost = await look(link, topics, state, () => state.refresh());
  // An open transaction may hide what another process has archived.
  return lost.length === 0 ? lost : look(link, topics, state, () => state.settled());
}

/**
 * Beginnings are read before the state and ends after it, so a run in progress cannot appear to have lost
 * anything.
 */
async function look(
  link: Link,
  topics: KafkaTopics,
  state: StateTopic,
  read: () => Promise<void>,
): Promise<readonly LostTopic[]> {
  const begins = await beginnings(link, topics, state);
  await read();
  const lost: LostTopic[] = [];
  const wrote = [...state.counts().values()].some(({ records }) => records > 0);
  if (wrote && link.settings.registry === null) {
    const name = topics.nameOf(SCHEMAS_TOPIC);
    const there = (await topics.partitions(SCHEMAS_TOPIC)) > 0;
    if (!there || (await writtenEnd(link, name, 0)) === 0 || (await beginning(link, name, 0)) > 0) {
      const what = `the schemas of all records, in the topic ${name}, were deleted on the broker`;
      lost.push({ topic: SCHEMAS_TOPIC, what });
    }
  }
  for (const [topic, { records }] of state.counts()) {
    if (records === 0) continue;
    const name = topics.nameOf(topic);
    const partitions = [...Array(await topics.partitions(topic)).keys()];
    if (partitions.length === 0) {
      lost.push({
        topic,
        what: `the topic ${name} was deleted on the broker, with ${records} records`,
      });
      continue;
    }
    const places = await Promise.all(
      partitions.map(async (partition) => ({
        archived: state.archived.end(topic, partition),
        begin: begins.get(topic)?.[partition] ?? 0,
        end: await writtenEnd(link, name, partition),
      })),
    );
    const archived = state.archived.count(topic).records;
    // Offsets have gaps, so there are never fewer of them than records.
    const left = places.reduce(
      (sum, place) => sum + Math.max(0, place.end - Math.max(place.begin, place.archived)),
      archived,
    );
    if (left < records || places.some((place) => place.begin > place.archived)) {
      const kept = archived === 0 ? '' : `, ${archived} of them in the archive`;
      const what = `records of the topic ${name} were deleted on the broker: at most ${left} of ${records} are left${kept}`;
      lost.push({ topic, what });
    }
  }
  return lost;
}

/** By topic and partition: the topics known to have records. */
async function beginnings(
  link: Link,
  topics: KafkaTopics,
  state: StateTopic,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const all = [...state.counts().keys()].map(async (topic) => {
    const partitions = [...Array(await topics.partitions(topic)).keys()];
    const name = topics.nameOf(topic);
    const begins = await Promise.all(partitions.map((each) => beginning(link, name, each)));
    return [topic, begins] as const;
  });
  return new Map(await Promise.all(all));
}

/** Fails with code `TOPIC_GONE` if anything is lost. */
export function mustBeWhole(run: string, lost: readonly LostTopic[]): void {
  if (lost.length === 0) return;
  throw new MillraceError(
    'TOPIC_GONE',
    `the records of run ${run} are incomplete: ${lost.map(({ what }) => what).join('; ')}. Its folder is untouched. Restore the ` +
      `records, or start another run with --run NAME; to use this name again, delete the remaining topics (${run}.…) and add --start-over`,
    { context: { run, topics: lost.map(({ topic }) => topic) } },
  );
}

/** Fails with code `OTHER_CLUSTER`. A cluster without an id is identified by its address. */
export function mustBeItsCluster(run: string, known = '', found = ''): void {
  if (known === '' || found === '' || found === known) return;
  throw new MillraceError(
    'OTHER_CLUSTER',
    `the records of run ${run} are on the Kafka cluster ${known}, and this is ${found}: check the address`,
    { context: { run, cluster: known, found } },
  );
}
