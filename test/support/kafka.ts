/**
 * The broker that the Kafka tests use: the one at MILLRACE_KAFKA (host:port). Without it they are skipped.
 */
import { describe } from '@jest/globals';

const address = process.env.MILLRACE_KAFKA ?? '';

/** Why the tests over Kafka are skipped; null when there is a broker. */
export const noKafka: string | null =
  address === '' ? 'MILLRACE_KAFKA (host:port) is not set; npm run kafka starts a broker' : null;

export const kafkaUrl = `kafka://${address}`;

/** A suite over the broker; skipped, with the reason in its name, where there is none. */
export function describeKafka(name: string, suite: () => void): void {
  if (noKafka === null) describe(name, suite);
  else describe.skip(`${name} (${noKafka})`, suite);
}

const startedMs = Date.now();
let runs = 0;

/** A name that no other test of any process has used on this broker. */
export function freshRun(): string {
  runs += 1;
  return `test-${startedMs}-${process.pid}-${runs}`;
}
