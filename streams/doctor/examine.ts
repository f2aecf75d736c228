/**
 * Reads a whole log and checks it against the laws. Whatever cannot be read is a finding of its own, and
 * reading continues after it.
 */
import { hasCode, messageOf } from '../../base/index.ts';
import type { Log, Standing, Stored } from '../log.ts';
import type { Position } from '../position.ts';
import type { Topic } from '../topic.ts';
import type { Finding } from './finding.ts';

export interface Examined {
  readonly findings: readonly Finding[];
  readonly standing: Standing;
  /** Records examined. */
  readonly records: number;
}

/** What must be true of the records of a log. Records in, findings out. */
export interface Laws {
  see(topic: Topic<unknown>, value: unknown, position: Position): void;
  /** A record that exists but cannot be read. */
  unreadable(topic: Topic<unknown>, position: Position): void;
  findings(): readonly Finding[];
}

/** Called for every record that can be read, besides the laws. */
export type Look = (topic: Topic<unknown>, value: unknown, position: Position) => void;

/**
 * Reads `topics` in order. Findings of the laws come last. If the log does not know its standing, the check
 * covers what is there at the time of reading.
 */
export async function examine(
  log: Log,
  topics: readonly Topic<unknown>[],
  lawsOf: (standing: Standing) => Laws,
  look: Look = () => undefined,
): Promise<Examined> {
  const standing = (await log.standing?.()) ?? (await standingOf(log));
  const laws = lawsOf(standing);
  const findings: Finding[] = [];
  let records = 0;
  const see = (topic: Topic<unknown>, { value, position }: Stored<unknown>): void => {
    laws.see(topic, value, position);
    look(topic, value, position);
    records += 1;
  };
  for (const topic of topics) {
    if (log.standing === undefined) {
      const all$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
      await all$.forEach((stored) => {
        see(topic, stored);
      });
      continue;
    }
    const end = standing.ends[topic.name] ?? 0;
    for (let offset = 0; offset < end; ) {
      const page = await readable(log, topic, offset, end);
      for (const stored of page.records) see(topic, stored);
      offset += page.records.length;
      if (page.error === null) continue;
      findings.push(unreadable(topic, offset, page.error));
      const next = Math.min(end, behind(page.error) ?? offset + 1);
      for (; offset < next; offset++) laws.unreadable(topic, { partition: 0, offset });
    }
  }
  return { findings: [...findings, ...laws.findings()], standing, records };
}

/** From the lags: no lag means that everything is settled. */
async function standingOf(log: Log): Promise<Standing> {
  const stats = await log.stats();
  const ends = Object.fromEntries(stats.map(({ topic, records }) => [topic, records]));
  const settled = Object.fromEntries(
    stats.map(({ topic, records, lag }) => [
      topic,
      Object.fromEntries(
        Object.entries(lag).map(([group, left]) => [group, { low: records - left, above: [] }]),
      ),
    ]),
  );
  return { ends, settled, marks: {} };
}

const PAGE = 256;

/** The records from `offset` up to a page, or up to the first that cannot be read, and the reason. */
async function readable(
  log: Log,
  topic: Topic<unknown>,
  offset: number,
  end: number,
): Promise<{ readonly records: readonly Stored<unknown>[]; readonly error: unknown }> {
  const positions = Array.from({ length: Math.min(PAGE, end - offset) }, (_, i) => ({
    partition: 0,
    offset: offset + i,
  }));
  try {
    return { records: await log.fetch(topic, positions), error: null };
  } catch {
    const records: Stored<unknown>[] = [];
    for (const position of positions) {
      try {
        records.push(...(await log.fetch(topic, [position])));
      } catch (error) {
        return { records, error };
      }
    }
    return { records, error: null };
  }
}

/** The offset after the records that cannot be read for the same reason: for an archived segment, its end. */
function behind(error: unknown): number | null {
  if (!hasCode(error, 'ARCHIVED')) return null;
  const { to } = error.context ?? {};
  return typeof to === 'number' ? to : null;
}

/** What to do when records are archived and their file cannot be read. */
export const BRING_ARCHIVE_BACK =
  'put the file back, or check that the object store answers and lets this process read; the log itself is intact';

function unreadable({ name }: Topic<unknown>, offset: number, error: unknown): Finding {
  if (hasCode(error, 'ARCHIVED')) {
    return { rule: 'readable', where: name, what: messageOf(error), advice: BRING_ARCHIVE_BACK };
  }
  const schema = hasCode(error, 'SCHEMA');
  return {
    rule: schema ? 'schema' : 'readable',
    where: name,
    what: `the record at offset ${offset} cannot be read: ${messageOf(error)}`,
    advice: schema
      ? 'read it with the version of millrace that wrote it, or a newer one'
      : 'bytes changed after they were written: restore the folder from a backup, or go back to before the damage with millrace rewind, and check the disk',
  };
}
