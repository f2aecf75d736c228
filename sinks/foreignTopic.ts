/**
 * Records as JSON in another system's Kafka topic: for consumers that know nothing of Millrace.
 *
 * Its stage continues where it stopped, by its own reading group in the run's log: nothing is
 * missing, and what was under way when the process died is sent again, under the same `millrace-position`
 * (topic/partition/offset), which is a header of every message. Records of one key keep their order. While
 * the broker is away the stage waits and the run goes on.
 */
import type { Kafka, Producer } from 'kafkajs';
import { finalize, type OperatorFunction } from 'rxjs';
import { messageOf, orAborted, type Report, type SleepClock } from '../base/index.ts';
import { type Delivery, unlessStopping } from '../streams/deliveries/index.ts';
import { type ForeignTopic, foreignKafka, wholeProducer } from '../streams/foreign/index.ts';
import { mapEach } from '../streams/index.ts';

export interface ForeignSinkOptions<T> {
  /** The destination; created if missing, with the broker's defaults. */
  readonly to: ForeignTopic;
  readonly run: string;
  /** The message, without what the headers contain. */
  readonly message: (value: T) => object;
  readonly clock: SleepClock;
  readonly print: Report;
}

/** Messages under way at once, and so in one request at most. */
const SENT_MAX = 256;
const PAUSE_MS = 5000;
/** kafkajs's own retries; ours follow. */
const RETRY = { retries: 2 };

interface Message {
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends each record, and passes it on once the broker has it. */
export function foreignSink<T>(
  options: ForeignSinkOptions<T>,
): OperatorFunction<Delivery<T>, Delivery<T>> {
  const { run, message } = options;
  const sender = new Sender(options);
  const sending = mapEach<T, T>(
    async (value, scope) => {
      const { topic, position, key } = scope;
      const headers = {
        'millrace-run': run,
        'millrace-position': `${topic}/${position.partition}/${position.offset}`,
      };
      const sent = { key, value: JSON.stringify(message(value)), headers };
      await unlessStopping(scope, 'sending a message', (until) => sender.send(sent, until));
      return value;
    },
    { concurrency: SENT_MAX, onError: 'fail' },
  );
  return (records$) =>
    records$.pipe(
      sending,
      finalize(() => sender.close()),
    );
}

interface Waiting {
  readonly message: Message;
  readonly sent: () => void;
}

/** Sends what has gathered during the last request, one request at a time. */
class Sender {
  readonly #options: Pick<ForeignSinkOptions<never>, 'to' | 'clock' | 'print'>;
  readonly #closed = new AbortController();
  #waiting: Waiting[] = [];
  #sending = false;
  #producer: Producer | null = null;

  constructor(options: Pick<ForeignSinkOptions<never>, 'to' | 'clock' | 'print'>) {
    this.#options = options;
  }

  /** Rejects if `until` aborts first; the message may have been sent by then. */
  async send(message: Message, until: AbortSignal): Promise<void> {
    const sent = new Promise<boolean>((resolve) => {
      this.#waiting.push({ message, sent: () => resolve(true) });
    });
    if (!this.#sending) void this.#drain();
    const aborted = orAborted(until);
    try {
      if ((await aborted.wait(sent)) === null) throw until.reason;
    } finally {
      aborted.forget();
    }
  }

  close(): void {
    this.#closed.abort();
    void this.#disconnect();
  }

  async #drain(): Promise<void> {
    this.#sending = true;
    await Promise.resolve();
    while (this.#waiting.length > 0 && !this.#closed.signal.aborted) {
      const taken = this.#waiting;
      this.#waiting = [];
      await this.#deliver(taken);
    }
    this.#sending = false;
  }

  /** Until the broker has them, or the stage ends. */
  async #deliver(taken: readonly Waiting[]): Promise<void> {
    const { to, clock, print } = this.#options;
    const { signal } = this.#closed;
    const server = to.shown;
    let awayMs: number | null = null;
    while (!signal.aborted) {
      try {
        this.#producer ??= await this.#connect();
        const messages = taken.map(({ message: { headers, ...rest } }) => {
          return { ...rest, headers: { ...headers } };
        });
        await this.#producer.send({ topic: to.topic, acks: -1, messages });
        for (const { sent } of taken) sent();
        if (awayMs !== null) {
          const forMs = clock.now() - awayMs;
          print(`${server} accepts messages again`, { state: 'back', server, reason: '', forMs });
        }
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (awayMs === null) {
          awayMs = clock.now();
          const reason = messageOf(error);
          const line = `${server} accepts no messages (${reason}); retrying`;
          print(line, { state: 'away', server, reason, forMs: 0 });
        }
        await this.#disconnect();
        await clock.sleep(PAUSE_MS, signal).catch(() => undefined);
      }
    }
  }

  async #connect(): Promise<Producer> {
    const { to } = this.#options;
    const kafka = await foreignKafka(to, 'millrace');
    await madeTopic(kafka, to.topic);
    const { Partitioners } = (await import('kafkajs')).default;
    const producer = wholeProducer(kafka, {
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    return producer;
  }

  async #disconnect(): Promise<void> {
    const producer = this.#producer;
    this.#producer = null;
    await producer?.disconnect().catch(() => undefined);
  }
}

async function madeTopic(kafka: Kafka, topic: string): Promise<void> {
  const admin = kafka.admin({ retry: RETRY });
  try {
    await admin.connect();
    if ((await admin.listTopics()).includes(topic)) return;
    await admin.createTopics({ topics: [{ topic }], waitForLeaders: true });
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
