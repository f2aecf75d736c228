/**
 * A log by its address: a Kafka URL, or else the folder of an embedded log. The one place that chooses.
 */
import { openLog } from './embedded/openLog.ts';
import { environmentFor, isKafkaUrl } from './foreign/kafkaUrl.ts';
import type { KafkaLogOptions } from './kafka/openKafkaLog.ts';
import type { Log } from './log.ts';

/** Options for a log on Kafka. A log in a folder uses `mode`, `topics` and `clock`. */
export interface AnyLogOptions extends Omit<KafkaLogOptions, 'url'> {
  /** `kafka://…`, or a folder. */
  readonly at: string;
  /**
   * The address comes from a file, not from the caller: passwords go to named hosts only
   * (base/namedHosts.ts).
   */
  readonly fromFile?: boolean;
}

export async function openAnyLog(options: AnyLogOptions): Promise<Log> {
  const { at, mode, topics, clock } = options;
  if (!isKafkaUrl(at)) {
    const given = clock === undefined ? {} : { clock };
    return openLog({ folder: at, mode, topics, ...given });
  }
  // Loaded when it is needed: most runs need no Kafka.
  const { openKafkaLog } = await import('./kafka/openKafkaLog.ts');
  const { at: url, fromFile = false, env = {}, ...rest } = options;
  return openKafkaLog({ ...rest, url, env: fromFile ? environmentFor(url, env) : env });
}
