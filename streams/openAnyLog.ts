/**
 * A log by its address: a Kafka URL, or else the folder of an embedded log. The one place that chooses.
 */
import type { Clock } from '../base/index.ts';
import { openLog } from './embedded/openLog.ts';
import { type Environment, environmentFor, isKafkaUrl } from './foreign/kafkaUrl.ts';
import type { Log } from './log.ts';
import type { Topic } from './topic.ts';

export interface AnyLogOptions {
  /** `kafka://…`, or a folder. */
  readonly at: string;
  /** Names the topics on Kafka; a folder holds one run. */
  readonly run: string;
  readonly mode: 'write' | 'read';
  /** The topics of the run, as far as they are known. */
  readonly topics: readonly Topic<unknown>[];
  readonly clock?: Clock;
  /** On Kafka: the name of this process among those that share the run. */
  readonly worker?: string;
  /** On Kafka: folder of the log in the run's folder, near which archived segments may lie. */
  readonly logFolder?: string;
  /** Passwords that the address leaves out. */
  readonly env?: Environment;
  /** A file names the address, and not the person who calls: passwords go to named hosts alone (base/namedHosts.ts). */
  readonly fromFile?: boolean;
  /** On Kafka: the cluster that the records are known to be on, and how long a broker is waited for. */
  readonly cluster?: string;
  readonly openMs?: number;
  /** Called when the log keeps us waiting. */
  readonly notice?: (line: string) => void;
}

export async function openAnyLog(options: AnyLogOptions): Promise<Log> {
  const { at, mode, topics, clock } = options;
  if (!isKafkaUrl(at)) {
    return openLog({ folder: at, mode, topics, ...(clock === undefined ? {} : { clock }) });
  }
  // Loaded when it is needed: most runs need no Kafka.
  const { openKafkaLog } = await import('./kafka/openKafkaLog.ts');
  const { at: url, fromFile = false, env = {}, ...rest } = options;
  return openKafkaLog({ ...rest, url, env: fromFile ? environmentFor(url, env) : env });
}
